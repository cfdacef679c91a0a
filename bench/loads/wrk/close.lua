-- One request a connection: the proxy closes it, and wrk connects anew.
local folder = debug.getinfo(1, "S").source:match("@(.*)/")
dofile(folder .. "/common.lua")
wrk.headers["Connection"] = "close"
