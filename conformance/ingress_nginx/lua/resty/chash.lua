-- Consistent hashing, by the interface that ingress-nginx's balancers use.
-- Which endpoint a key gets is not that of lua-resty-balancer; that it keeps it is.
local POINTS = 160

local _M = {}

function _M.new(_, nodes)
  local object = setmetatable({}, { __index = _M })
  object:reinit(nodes)
  return object
end

function _M.reinit(self, nodes)
  self.nodes = nodes
  local ring = {}
  for name, weight in pairs(nodes) do
    for number = 1, POINTS * weight do
      ring[#ring + 1] = { ngx.crc32_long(name .. "#" .. number), name }
    end
  end
  table.sort(ring, function(one, other)
    if one[1] == other[1] then
      return one[2] < other[2]
    end
    return one[1] < other[1]
  end)
  self.ring = ring
end

function _M.find(self, key)
  local ring = self.ring
  if #ring == 0 then
    return nil
  end
  local hash = ngx.crc32_long(key)
  local low, high = 1, #ring + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if ring[middle][1] < hash then
      low = middle + 1
    else
      high = middle
    end
  end
  return ring[low > #ring and 1 or low][2]
end

return _M
