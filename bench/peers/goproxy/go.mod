module txingress.example/goproxy

go 1.24
