-- Endpoints in turn, by the interface that ingress-nginx's balancers use.
local _M = {}

local function in_order(nodes)
  local names = {}
  for name in pairs(nodes) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

function _M.new(_, nodes)
  local object = setmetatable({}, { __index = _M })
  object:reinit(nodes)
  return object
end

function _M.reinit(self, nodes)
  self.nodes = nodes
  self.names = in_order(nodes)
  self.last = 0
end

function _M.find(self)
  if #self.names == 0 then
    return nil
  end
  self.last = self.last % #self.names + 1
  return self.names[self.last]
end

return _M
