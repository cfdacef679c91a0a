// The echo server of the suite of v1.7 is a module of its own, which the module proxy may lack.  Its packages are copied beside
// this file when that suite is built, out of the module of the release, which has the same ones (conformance/binaries.py).
module sigs.k8s.io/gateway-api-conformance-images

go 1.26.0

require (
	golang.org/x/net v0.62.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
)
