-- ingress-nginx loads it to ask for OCSP answers, which enable-ocsp turns on; no case does.
local _M = {}

function _M.new()
  error("OCSP is not asked for here")
end

return _M
