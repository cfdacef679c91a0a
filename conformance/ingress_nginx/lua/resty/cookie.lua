-- Cookies of a request and of its answer, by the interface that ingress-nginx's sticky balancers use.  Debian's module is older than
-- SameSite.
local _M = {}

function _M.new()
  return setmetatable({}, { __index = _M })
end

function _M.get(_, name)
  local text = ngx.var.http_cookie
  if not text then
    return nil, "no cookie found in the current request"
  end
  for one in text:gmatch("[^;]+") do
    local key, value = one:match("^%s*([^=%s]+)=(.-)%s*$")
    if key == name then
      return value
    end
  end
  return nil
end

function _M.set(_, cookie)
  local parts = { cookie.key .. "=" .. cookie.value }
  local function add(name, value)
    if value then
      parts[#parts + 1] = value == true and name or name .. "=" .. value
    end
  end
  add("Expires", cookie.expires)
  add("Max-Age", cookie.max_age)
  add("Domain", cookie.domain)
  add("Path", cookie.path)
  add("Secure", cookie.secure)
  add("HttpOnly", cookie.httponly)
  add("SameSite", cookie.samesite)
  local there = ngx.header["Set-Cookie"]
  local made = table.concat(parts, "; ")
  if type(there) == "table" then
    there[#there + 1] = made
  elseif there then
    there = { there, made }
  else
    there = made
  end
  ngx.header["Set-Cookie"] = there
  return true
end

return _M
