-- Ten request headers; path, cookie and request id differ each time.
local folder = debug.getinfo(1, "S").source:match("@(.*)/")
dofile(folder .. "/common.lua")

local before, between, after
local count = 0

function init(arguments)
   math.randomseed(os.time())
   count = math.random(1, 1000000) * 1000
   before = "GET /unique/catalog/"
   between = " HTTP/1.1\r\nHost: " .. wrk.host .. "\r\n"
      .. "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n"
      .. "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
      .. "Accept-Language: en-US,en;q=0.5\r\n"
      .. "Accept-Encoding: gzip, deflate, br\r\n"
      .. "Referer: http://" .. wrk.host .. "/catalog/\r\n"
      .. "Cache-Control: max-age=0\r\n"
      .. "Sec-Fetch-Mode: navigate\r\n"
      .. "Cookie: theme=light; session="
   after = "\r\n\r\n"
end

function request()
   count = count + 1
   local id = string.format("%032x", count)
   return before .. id .. "?page=" .. count .. between .. id .. "\r\nX-Request-Id: " .. id .. after
end
