-- Debian has the same module by another name.
return require("nginx.dns.resolver")
