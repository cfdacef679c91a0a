-- Debian has the same module by another name.
return require("nginx.cookie")
