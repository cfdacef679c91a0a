-- ingress-nginx loads it for global rate limits, which need memcached; no case has them.
local _M = {}

function _M.new()
  return nil, "there is no memcached here"
end

return _M
