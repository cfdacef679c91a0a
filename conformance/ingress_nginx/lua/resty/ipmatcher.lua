-- ingress-nginx loads it for global rate limits, which need memcached; no case has them.
local _M = {}

function _M.new()
  return nil, "no addresses are matched here"
end

return _M
