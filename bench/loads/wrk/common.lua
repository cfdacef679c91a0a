-- Whatever host the URL names, connect to loopback; the name still goes into SNI and Host.
function wrk.resolve(host, service)
   wrk.addrs = wrk.lookup("127.0.0.1", service)
end
