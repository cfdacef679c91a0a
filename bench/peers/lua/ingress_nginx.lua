-- What the Lua of ingress-nginx does for a request with its default settings, written anew from what is known of it: a
-- table of backends that is not in the configuration, round robin over their endpoints, the variables that headers
-- and the log are made of, a record of each request for metrics, and certificates by server name.
local balancer = require "ngx.balancer"
local ssl = require "ngx.ssl"

local backends, certificates = {}, {}
local batch, count = {}, 0
local MOST_RECORDS = 10000

local ours = {}

-- backends: endpoints by name; pairs: files of certificate and key by server name.
function ours.init(known_backends, pairs_of_files)
   for name, endpoints in pairs(known_backends) do
      backends[name] = { endpoints = endpoints, next = 0 }
   end
   local read = function(path)
      local file = assert(io.open(path))
      local text = file:read("*a")
      file:close()
      return text
   end
   for host, files in pairs(pairs_of_files) do
      certificates[host] = { certificate = read(files[1]), key = read(files[2]) }
   end
end

local function encoded(record)
   local fields = {}
   for name, value in pairs(record) do
      fields[#fields + 1] = string.format("%q:%q", name, tostring(value))
   end
   return "{" .. table.concat(fields, ",") .. "}"
end

-- Once a second the records of all requests become one text; there it is sent to the controller.
local function flush()
   local texts = {}
   for number = 1, count do
      texts[number] = encoded(batch[number])
   end
   batch, count = {}, 0
   return "[" .. table.concat(texts, ",") .. "]"
end

function ours.init_worker()
   ngx.timer.every(1, flush)
end

function ours.certificate()
   local name = ssl.server_name()
   local found = name and certificates[name:lower()] or certificates["_"]
   ssl.clear_certs()
   assert(ssl.set_der_cert(assert(ssl.cert_pem_to_der(found.certificate))))
   assert(ssl.set_der_priv_key(assert(ssl.priv_key_pem_to_der(found.key))))
end

function ours.rewrite(location)
   local var = ngx.var
   var.pass_access_scheme = var.scheme
   var.best_http_host = var.http_host or var.host
   var.pass_server_port = var.server_port
   var.pass_port = var.pass_server_port
   if location.ssl_redirect and var.scheme == "http" and certificates[var.host] then
      return ngx.redirect("https://" .. var.host .. var.request_uri, 308)
   end
   local backend = backends[var.proxy_upstream_name]
   if not backend then
      return ngx.exit(503)
   end
   ngx.ctx.backend = backend
end

function ours.balance()
   local backend = ngx.ctx.backend
   local endpoints = backend.endpoints
   backend.next = backend.next % #endpoints + 1
   local endpoint = endpoints[backend.next]
   balancer.set_more_tries(1)
   assert(balancer.set_current_peer(endpoint[1], endpoint[2]))
end

function ours.log()
   if count == MOST_RECORDS then
      return
   end
   local var = ngx.var
   count = count + 1
   batch[count] = {
      host = var.host or "-",
      namespace = var.namespace or "-",
      ingress = var.ingress_name or "-",
      service = var.service_name or "-",
      canary = var.proxy_alternative_upstream_name or "-",
      path = var.location_path or "-",
      method = var.request_method or "-",
      status = var.status or "-",
      requestLength = tonumber(var.request_length) or -1,
      requestTime = tonumber(var.request_time) or -1,
      responseLength = tonumber(var.bytes_sent) or -1,
      upstreamLatency = tonumber(var.upstream_connect_time) or -1,
      upstreamHeaderTime = tonumber(var.upstream_header_time) or -1,
      upstreamResponseTime = tonumber(var.upstream_response_time) or -1,
      upstreamResponseLength = tonumber(var.upstream_response_length) or -1,
   }
end

return ours
