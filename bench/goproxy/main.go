// A reverse proxy as one writes it with Go's standard library: the reference "Go" of the benchmark.
//
// Two settings differ from the defaults.  Idle upstream connections are kept for all of the load (the
// default of 2 would connect anew all the time), and the Host of the client is passed on, as an Ingress does.
package main

import (
	"flag"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
)

func main() {
	plain := flag.String("http", "", "address for HTTP")
	secure := flag.String("https", "", "address for HTTPS")
	certificate := flag.String("cert", "", "certificate chain, PEM")
	key := flag.String("key", "", "private key, PEM")
	backend := flag.String("backend", "", "URL of the backend")
	flag.Parse()

	target, err := url.Parse(*backend)
	if err != nil {
		log.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns = 1024
	transport.MaxIdleConnsPerHost = 1024
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(target)
			request.SetXForwarded()
			request.Out.Host = request.In.Host
		},
	}
	go func() { log.Fatal(http.ListenAndServeTLS(*secure, *certificate, *key, proxy)) }()
	log.Fatal(http.ListenAndServe(*plain, proxy))
}
