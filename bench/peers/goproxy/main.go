// A reverse proxy as one writes it with Go's standard library: the reference "Go" of the benchmark.
//
// Two settings differ from the defaults.  Idle upstream connections are kept for all of the load (the
// default of 2 would connect anew all the time), and the Host of the client is passed on, as an Ingress does.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

func newProxy(target *url.URL, transport *http.Transport) *httputil.ReverseProxy {
	transport.MaxIdleConns = 1024
	transport.MaxIdleConnsPerHost = 1024
	return &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(target)
			request.SetXForwarded()
			request.Out.Host = request.In.Host
		},
	}
}

func main() {
	plain := flag.String("http", "", "address for HTTP")
	secure := flag.String("https", "", "address for HTTPS")
	var certificates, keys []string
	flag.Func("cert", "certificate chain, PEM; repeatable", func(path string) error {
		certificates = append(certificates, path)
		return nil
	})
	flag.Func("key", "its private key, PEM; repeatable", func(path string) error {
		keys = append(keys, path)
		return nil
	})
	backend := flag.String("backend", "", "URL of the backend")
	proxies := make(map[string]http.Handler)
	flag.Func("h2c", "HOST=URL of a backend that speaks HTTP/2 without TLS; repeatable", func(text string) error {
		host, address, found := strings.Cut(text, "=")
		target, err := url.Parse(address)
		if !found || err != nil {
			return fmt.Errorf("not of the form HOST=URL")
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
		proxies[host] = newProxy(target, transport)
		return nil
	})
	flag.Parse()

	target, err := url.Parse(*backend)
	if err != nil {
		log.Fatal(err)
	}
	usual := newProxy(target, http.DefaultTransport.(*http.Transport).Clone())
	byHost := http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if proxy, found := proxies[request.Host]; found {
			proxy.ServeHTTP(writer, request)
		} else {
			usual.ServeHTTP(writer, request)
		}
	})
	settings := new(tls.Config)
	for number, path := range certificates {
		pair, err := tls.LoadX509KeyPair(path, keys[number])
		if err != nil {
			log.Fatal(err)
		}
		settings.Certificates = append(settings.Certificates, pair)
	}
	server := &http.Server{Addr: *secure, Handler: byHost, TLSConfig: settings}
	go func() { log.Fatal(server.ListenAndServeTLS("", "")) }()
	log.Fatal(http.ListenAndServe(*plain, usual))
}
