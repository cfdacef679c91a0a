# The commands of this repository; CI runs the same ones.  `make` alone lists them.

PYTHON ?= python3
VENV ?= .venv
FUZZ_SECONDS ?= 60
# Times the examples that properties name, for make properties and make test-compiled.
EXAMPLES ?= 1
# Processes that share the tests; many of these wait for others, so eight are of use on two CPUs.
TEST_JOBS ?= 8
# Modules of tests with properties.
PROPERTIES = $(subst /,.,$(basename $(shell grep --recursive --files-with-matches --include='test_*.py' -E '^from (hypothesis|tests.properties) ' tests)))
# Names of scripts, separated by commas; all without.  TARGETS likewise: ours,nginx,haproxy.
FAULTS ?=
TARGETS ?=
SOAK_SECONDS ?= 300
# For make conformance: the CRDs, standard or experimental; profiles, separated by commas, all without; and whether to wait for
# nothing much longer than ten seconds, which writes no report.
CHANNEL ?= standard
PROFILE ?=
IMPATIENT ?=
# For make versions: other interpreters, which are left out where they are missing, and which tests to run (also for make conformance).
# The first is that of Debian 12: an early 3.11, where later ones do some things in another way.
OTHER_PYTHONS ?= /usr/bin/python3.11 python3.12 python3.13 python3.14
TESTS ?=
# For make conformance-ingress-nginx: which cases, with * for anything, all without.
CASES ?=
# Or so many sets by chance of this seed, SHARED=yes in several namespaces.
RANDOM ?=
SEED ?= 1
FIRST ?= 0
SHARED ?=
# The benchmark has an environment of its own: it installs other proxies.  It measures what users run: as the image, and as the other
# proxies that come from Debian, an interpreter built for speed, with PGO and LTO.  Debian's is, where it is there.
BENCH_VENV ?= .venv-bench
BENCH_PYTHON ?= $(shell /usr/bin/python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo /usr/bin/python3 || echo '$(PYTHON)')
CODE = setup.py compiling ingress tests twisted/plugins scripts bench conformance examples/demo examples/whoami examples/filter

bin = $(VENV)/bin
user_environment = $(VENV)/.installed
page_environment = $(VENV)/.installed-page
axe = $(VENV)/axe/axe.min.js
dev_environment = $(VENV)/.installed-dev
fuzz_environment = $(VENV)-fuzz/.installed
# sslyze wants another cryptography than pyOpenSSL does.
sslyze_environment = $(VENV)-sslyze/.installed
# What makes the site has nothing to do with what runs.
site_environment = $(VENV)-site/.installed
# Helm is a program of Go, which is on the path or where conformance/README.md has it.
helm = $(VENV)/helm/helm
HELM_VERSION = v4.3.2
# With anything, make test-helm has an API server judge what is rendered, which Go builds once.
CLUSTER ?=
# Holds the package as wheels do, with machine code, and no editable installation of it.
COMPILED_VENV ?= .venv-compiled
compiled_environment = $(COMPILED_VENV)/.installed-dev
bench_environment = $(BENCH_VENV)/.installed-bench
bench_quick_environment = $(BENCH_VENV)/.installed-bench-quick
# Ours as machine code stands beside the environment that measures it (bench/peers/targets.py), by the same interpreter.
bench_compiled = $(MAKE) --no-print-directory compiled PYTHON='$(BENCH_VENV)/bin/python' COMPILED_VENV='$(BENCH_VENV)-compiled'
# Debian has what daemons are started by in folders that are not on a user's path.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
# What an installation depends on; the code itself is installed editable.
metadata = setup.cfg pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help run test properties compiled test-compiled test-monitoring test-helm test-page page-pictures firewall check format fuzz fuzz-parsers http2 fastcgi docs site bench bench-quick bench-instructions bench-compare bench-watch bench-workers bench-feed bench-sizing bench-memory bench-tls bench-ticket-keys bench-accepting bench-udp bench-admin bench-page bench-tallies bench-auth bench-annotations bench-calls bench-log bench-lint bench-latency bench-overload bench-overload-cases bench-tracing bench-filters bench-gateway-filters bench-limits bench-passwords bench-gzip bench-expressions bench-takeover bench-restarts sslyze conformance conformance-next conformance-up conformance-ingress-nginx versions faults faults-compiled soak image-check clean
.DELETE_ON_ERROR:

help: ## list these commands
	@list() { sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | grep "$$@" '^bench' | while IFS="$$(printf '\t')" read -r name text; do \
		printf 'make %-25s %s\n' "$$name" "$$text"; done; }; list -v; echo; echo 'What measures:'; echo; list -e

run: $(user_environment) ## start the demo on 127.0.0.1:8080 and :8443, with curl lines to paste
	@exec $(bin)/python -m examples.demo

# Its hundreds of processes read bytecode, also where the environment forbids to write any: compiling is half of their start.
test: export PYTHONDONTWRITEBYTECODE =
test: $(dev_environment) ## run the whole test suite
	$(bin)/trial --jobs $(TEST_JOBS) --temp-directory $(VENV)/trial tests

properties: export INGRESS_EXAMPLES = $(EXAMPLES)
properties: export PYTHONDONTWRITEBYTECODE =
properties: $(dev_environment) ## try properties with all the examples that they name, of which make test takes a third, or EXAMPLES=10 times as many
	$(bin)/trial --jobs $(TEST_JOBS) --temp-directory $(VENV)/trial-properties $(PROPERTIES)

compiled: $(compiled_environment) ## compile what wheels hold as machine code (docs/compiled.md), and install it into .venv-compiled
	@exec $(COMPILED_VENV)/bin/python -m compiling $(COMPILED_VENV)

test-compiled: export PYTHONDONTWRITEBYTECODE =
test-compiled: export INGRESS_EXAMPLES = $(EXAMPLES)
test-compiled: compiled ## run the test suite, or TESTS=name..., with what make compiled has installed
	cd $(COMPILED_VENV)/tree && ../bin/python -m twisted.trial --jobs $(TEST_JOBS) --temp-directory ../trial $(or $(TESTS),tests)

test-monitoring: $(dev_environment) ## check rules and dashboard by promtool, and have a real Prometheus watch an outage, in a minute (root, to install it)
	$(bin)/python -m tests.monitoring.promtool
	TXINGRESS_TEST_PROMETHEUS=1 $(bin)/trial --temp-directory $(VENV)/trial-monitoring tests.monitoring

test-helm: $(dev_environment) $(helm) ## render the chart by Helm, which Go builds once, with values of many providers, and lint it: CLUSTER=1 asks an API server, too
	TXINGRESS_TEST_HELM='$(abspath $(helm))' $(bin)/trial --jobs 4 --temp-directory $(VENV)/trial-helm tests.chart
	@$(if $(CLUSTER),TXINGRESS_TEST_HELM='$(abspath $(helm))' exec $(bin)/python -m tests.chart.api_server)

test-page: $(page_environment) ## look at the page of the admin port with Chromium: it is installed if it is missing (root), and axe-core comes from npm
	@$(bin)/python -m bench.peers.install chromium
	@TXINGRESS_TEST_BROWSER="$$(command -v chromium)" TXINGRESS_TEST_AXE='$(abspath $(axe))' \
		exec $(bin)/trial --temp-directory $(VENV)/trial-page tests.page

page-pictures: $(page_environment) ## take pictures of that page in two themes and three sizes into .venv/page, and docs/page.png (root, as above)
	@$(bin)/python -m bench.peers.install chromium
	@TXINGRESS_TEST_BROWSER="$$(command -v chromium)" exec $(bin)/python -m tests.page.pictures $(VENV)/page

firewall: $(dev_environment) ## have the real ModSecurity and its core rules inspect requests, and print what that costs (root, to install them)
	@$(bin)/python -m bench.peers.install libmodsecurity3 modsecurity-crs
	TXINGRESS_TEST_FIREWALL=1 $(bin)/trial --temp-directory $(VENV)/trial-firewall tests.firewall
	$(bin)/python -m bench.features.firewall

check: $(dev_environment) ## format, lint, types, layers, what mypyc takes: what CI asks besides the tests, plain and compiled
	$(bin)/ruff format --check $(CODE)
	$(bin)/ruff check $(CODE)
	$(bin)/mypy setup.py compiling ingress tests twisted/plugins scripts/image_check.py scripts/options_page.py scripts/annotations_page.py scripts/config_map_page.py scripts/arguments_page.py scripts/ingressctl_page.py scripts/lint_rules_page.py scripts/api_page.py scripts/gateway_api_page.py scripts/grafana_dashboard.py scripts/chart bench conformance examples/demo examples/whoami examples/filter
	$(bin)/python -m compiling.checking $(VENV)/translated
	$(bin)/trial --temp-directory $(VENV)/trial-check tests.test_layers

format: $(dev_environment) ## format the code and apply the safe lint fixes
	$(bin)/ruff format $(CODE)
	$(bin)/ruff check --fix $(CODE)

fuzz: $(dev_environment) ## throw mutated conversations at the proxy, for FUZZ_SECONDS=60
	$(bin)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

fuzz-parsers: $(fuzz_environment) ## let atheris search the parsers, for FUZZ_SECONDS=60
	$(VENV)-fuzz/bin/python -m tests.fuzz.parsers -max_total_time=$(FUZZ_SECONDS)

http2: $(dev_environment) ## play the rules of HTTP/2 and every flood at a controller over sockets, in about three minutes
	$(bin)/python -m tests.http2

fastcgi: $(dev_environment) ## ask real PHP scripts behind PHP-FPM, by us and by nginx, compare what they are told and answer, and measure what that costs (root, to install php-fpm, nginx and h2load)
	@$(bin)/python -m bench.peers.install php-fpm nginx h2load
	$(bin)/trial --temp-directory $(VENV)/trial-fastcgi tests.end_to_end.beside_nginx.test_fastcgi_beside_nginx
	@exec $(bin)/python -m bench.features.fastcgi

docs: $(dev_environment) ## write anew what pages, the chart and the dashboard have out of tables of the code, and the output of ingressctl in pages
	$(bin)/python -m scripts.options_page > $(VENV)/options.md
	mv $(VENV)/options.md docs/options.md
	$(bin)/python -m scripts.annotations_page > $(VENV)/annotations.md
	mv $(VENV)/annotations.md docs/annotations.md
	$(bin)/python -m scripts.config_map_page > $(VENV)/configmap.md
	mv $(VENV)/configmap.md docs/configmap.md
	$(bin)/python -m scripts.arguments_page > $(VENV)/arguments.md
	mv $(VENV)/arguments.md docs/arguments.md
	$(bin)/python -m scripts.api_page > $(VENV)/api.md
	mv $(VENV)/api.md docs/api.md
	$(bin)/python -m scripts.lint_rules_page > $(VENV)/lint-rules.md
	mv $(VENV)/lint-rules.md docs/lint-rules.md
	$(bin)/python -m scripts.gateway_api_page docs/gateway-api.md > $(VENV)/gateway-api.md
	mv $(VENV)/gateway-api.md docs/gateway-api.md
	$(bin)/python -m scripts.grafana_dashboard > $(VENV)/txingress.json
	mv $(VENV)/txingress.json k8s/monitoring/txingress.json
	$(bin)/python -m scripts.chart.files
	$(bin)/python -m scripts.ingressctl_page docs/ingressctl.md > $(VENV)/ingressctl.md
	mv $(VENV)/ingressctl.md docs/ingressctl.md
	$(bin)/python -m scripts.ingressctl_page README.md > $(VENV)/README.md
	mv $(VENV)/README.md README.md

site: $(site_environment) ## make build/site/index.html of the documents, and check every link inside of it
	rm -rf build/site
	$(VENV)-site/bin/python -m sphinx --quiet --fail-on-warning --keep-going -c scripts/site -d build/site-doctrees . build/site
	$(VENV)-site/bin/python -m scripts.site build/site

bench: $(bench_environment) ## measure, plain and compiled, beside nginx, HAProxy, Caddy, Envoy and Go, and write docs/performance.md (root, to install them)
	@$(BENCH_VENV)/bin/python -m bench.beforehand
	@$(bench_compiled)
	@exec $(BENCH_VENV)/bin/python -m bench

# Compiling takes longer than all of it: what is compiled is measured where it has been before, and then as it is now.
bench-quick: $(bench_quick_environment) ## measure the two small GETs beside nginx and Go, in under 45 s
	@$(if $(wildcard $(BENCH_VENV)-compiled/.installed-dev),$(bench_compiled))
	@exec $(BENCH_VENV)/bin/python -m bench --quick

bench-instructions: $(if $(wildcard $(compiled_environment)),compiled)

bench-instructions: $(dev_environment) ## count the instructions of a request outside of the kernel, ours beside nginx, in under two minutes: LOADS=get-unique (root, to install nginx, h2load, wrk, valgrind)
	@exec $(bin)/python -m bench.requests.instructions $(if $(LOADS),--loads='$(LOADS)')

bench-compare: $(dev_environment) ## measure the commit REF=HEAD~3 and the working tree in turn, and say what changed beyond noise: LOADS=get-unique ROUNDS=10 (root, as above)
	@exec $(bin)/python -m bench.requests.compare $(if $(LOADS),--loads='$(LOADS)') $(if $(ROUNDS),--rounds='$(ROUNDS)') '$(or $(REF),HEAD)'

bench-watch: $(dev_environment) ## measure what reading a cluster of 10,000 Ingresses costs, or of ROUTES=httproutes, and write bench/watch-results.json
	@exec $(bin)/python -m bench.cluster.watch --routes=$(or $(ROUTES),ingresses)

faults: $(dev_environment) ## break what can break, beside nginx and HAProxy if they are here: FAULTS=name,... TARGETS=ours,...
	@exec $(bin)/python -m bench.disruptions.faults --only='$(FAULTS)' --targets='$(TARGETS)'

faults-compiled: compiled ## break the same for ours as machine code, whose results go to .venv-compiled: FAULTS=name,...
	@cd $(COMPILED_VENV)/tree && exec ../bin/python -m bench.disruptions.faults --only='$(FAULTS)' --targets='$(or $(TARGETS),ours)' --output=../faults-results.json

soak: $(dev_environment) ## half load with churn, for SOAK_SECONDS=300, and short connections: memory and descriptors must stay flat
	@SOAK_SECONDS='$(SOAK_SECONDS)' exec $(bin)/python -m bench.disruptions.faults --only=soak,short-plain,short-tls,short-sessions,short-handshakes,short-heads --targets=ours

bench-feed: $(dev_environment) ## measure what 10,000 Ingresses cost to hand to 2 and 4 workers: milliseconds, bytes, memory
	@exec $(bin)/python -m bench.cluster.feed

bench-sizing: $(dev_environment) ## measure what connections, routes, certificates and workers take, for docs/sizing.md
	@exec $(bin)/python -m bench.cluster.sizing

bench-memory: $(dev_environment) ## print what a process takes, how soon it starts, and what connections and 10,000 Ingresses take, beside the goals: PARTS='start connections'
	@exec $(bin)/python -m bench.cluster.memory $(PARTS)

bench-tls: $(dev_environment) ## measure what 10,000 certificates cost in memory and in handshakes
	@exec $(bin)/python -m bench.connections.tls

bench-ticket-keys: $(dev_environment) ## show whether ticket keys could be set, and what replicas that share them would save
	@exec $(bin)/python -m bench.connections.ticket_keys

bench-admin: $(dev_environment) ## measure how long the pages of the admin port hold the reactor, with 10,000 Ingresses
	@exec $(bin)/python -m bench.cluster.admin

bench-page: $(dev_environment) ## measure what the page of the admin port costs with 0, 1 and 20 viewers, and 10,000 routes
	@exec $(bin)/python -m bench.cluster.page

bench-tallies: $(dev_environment) ## measure what adding up the numbers of worker processes costs, with 10,000 Ingresses
	@exec $(bin)/python -m bench.cluster.tallies

bench-auth: $(dev_environment) ## measure what asking another service about each request costs, beside nginx's auth_request (root, to install it)
	@exec $(bin)/python -m bench.features.auth

bench-tracing: $(dev_environment) ## measure what tracing costs a GET: without, with 1 % and with all requests sampled, at a collector (root, to install nginx and h2load)
	@exec $(bin)/python -m bench.features.tracing

bench-filters: $(dev_environment) ## measure what filters of the operator's cost a GET, in calls and microseconds
	@exec $(bin)/python -m bench.features.filters

bench-gateway-filters: $(dev_environment) ## count what filters of the Gateway API cost a GET, in calls
	@exec $(bin)/python -m bench.features.gateway_filters

bench-passwords: $(dev_environment) ## measure what passwords cost, known, wrong and in a flood
	@exec $(bin)/python -m bench.features.passwords

bench-limits: $(dev_environment) ## measure what limits of a million clients take in memory, and the longest pause; and compare them with an nginx that is installed
	@$(bin)/python -m bench.features.limits
	@exec $(bin)/python -m bench.features.limits_beside_nginx

bench-takeover: $(dev_environment) ## take over 20 times under load, on five kinds of connections, and count what is lost and left behind: WORKERS=2
	@exec $(bin)/python -m bench.disruptions.takeover $(if $(WORKERS),--option=--workers=$(WORKERS))

bench-restarts: $(dev_environment) ## kill, freeze, restart, replace and reload ours, nginx and HAProxy under load (both installed), and count what each kind of connection loses: ACTS=kill-worker,reload
	@exec $(bin)/python -m bench.disruptions.restarts $(if $(ACTS),--only='$(ACTS)',--output=bench/restarts-results.json)

bench-gzip: $(dev_environment) ## measure what compression costs, beside nginx (root, to install it)
	@exec $(bin)/python -m bench.features.gzip

bench-expressions: $(dev_environment) ## measure what regular expressions of paths cost, in microseconds
	@exec $(bin)/python -m bench.features.expressions

bench-annotations: $(dev_environment) ## measure what annotations cost a GET, in calls and beside a plain route
	@exec $(bin)/python -m bench.features.annotations

bench-latency: $(dev_environment) ## measure how long requests take at rest, beside nginx, and while 10,000 Ingresses change or pages are read (root, to install it)
	@exec $(bin)/python -m bench.requests.latency

bench-overload: $(dev_environment) ## measure what becomes of three times the load that a core takes, beside nginx and HAProxy (root, to install them)
	@exec $(bin)/python -m bench.requests.overload

bench-overload-cases: $(dev_environment) ## show what is no overload, and what little memory does (root, for a control group)
	@exec $(bin)/python -m bench.requests.overload_cases

bench-lint: $(dev_environment) ## measure how soon ingressctl lint starts, and what 10,000 Ingresses cost it in seconds and memory
	@exec $(bin)/python -m bench.cluster.lint

bench-calls: $(dev_environment) ## count the Python calls of a GET on its way in and out, over HTTP/1.1 and HTTP/2, each by name
	@exec $(bin)/python -m bench.requests.calls

bench-log: $(dev_environment) ## measure what a line of the access log costs in each form, in microseconds
	@exec $(bin)/python -m bench.requests.log

bench-udp: $(dev_environment) ## measure what a datagram costs, beside an nginx with its stream module where there is one (STREAM_MODULE=PATH)
	@exec $(bin)/python -m bench.connections.udp

bench-accepting: $(dev_environment) ## compare ways in which several processes accept the connections of one port
	@exec $(bin)/python -m bench.connections.accepting

bench-workers: $(dev_environment) ## measure what a request costs with 1, 2 and 4 workers (root, to install nginx and h2load)
	@exec $(bin)/python -m bench.requests.workers

sslyze: $(user_environment) $(sslyze_environment) ## let sslyze judge the TLS of a running controller by Mozilla's intermediate configuration, and look for X25519MLKEM768
	$(bin)/python scripts/sslyze_check.py $(VENV)-sslyze/bin/python

conformance: $(dev_environment) ## run the official tests of the Gateway API, and those of Ingress, against an API server that Go builds once: TESTS=name,... PROFILE=name,... CHANNEL=experimental IMPATIENT=1
	@exec $(bin)/python -m conformance run --channel='$(CHANNEL)' --tests='$(TESTS)' --profiles='$(PROFILE)' $(if $(IMPATIENT),--impatient)

conformance-next: $(dev_environment) ## run the same by the suite of the next release, which writes a report of its own
	@exec $(bin)/python -m conformance run --suite=next --channel='$(CHANNEL)' --tests='$(TESTS)' --profiles='$(PROFILE)' $(if $(IMPATIENT),--impatient)

conformance-up: $(dev_environment) ## leave that API server and its pods running until Ctrl-C; make conformance uses them meanwhile
	@exec $(bin)/python -m conformance up --channel='$(CHANNEL)'

conformance-ingress-nginx: $(dev_environment) ## give the same objects and requests to the real ingress-nginx, built by Go once, and compare: CASES=name,..., or RANDOM=200 SEED=1
	@exec $(bin)/python -m conformance.ingress_nginx --cases='$(CASES)' $(if $(RANDOM),--random='$(RANDOM)' --seed='$(SEED)' --first='$(FIRST)' $(if $(SHARED),--shared-hosts))

versions: ## install the lowest and the newest versions of all that is required, from the package index, and run the tests with each
	@$(have_python)
	@for python in $(PYTHON) $(OTHER_PYTHONS); do "$$python" -c '' 2>/dev/null || continue; \
		"$$python" scripts/versions_check.py "$(VENV)-versions-$$(basename "$$python")" $(TEST_JOBS) $(TESTS) || exit 1; done

image-check: $(user_environment) ## run the Dockerfile commands in an empty folder, without a container: FIREWALL=yes, where make firewall has installed the library
	$(bin)/python scripts/image_check.py $(if $(FIREWALL),FIREWALL='$(FIREWALL)')

clean: ## remove the environment and everything built
	rm -rf $(VENV) $(COMPILED_VENV) $(BENCH_VENV) $(BENCH_VENV)-compiled .conformance $(VENV)-fuzz $(VENV)-site $(VENV)-sslyze $(VENV)-versions-* build dist ./*.egg-info _trial_temp* .mypy_cache .ruff_cache .hypothesis .coverage* \
		twisted/plugins/dropin.cache

# One environment, two stamps: the demo needs no development tools.
$(user_environment): $(metadata)
	@$(make_venv)
	$(bin)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable .
	@$(compile)
	@touch $@

$(dev_environment): $(metadata)
	@$(make_venv)
	$(bin)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@$(compile) && $(compile_tests)
	@touch $@ $(user_environment)

# The package itself comes later, compiled; the folder of what was made before is of no use to other rules of making it.
$(compiled_environment): override VENV = $(COMPILED_VENV)
$(compiled_environment): $(metadata) setup.py $(wildcard compiling/*.py)
	@$(make_venv)
	TXINGRESS_USE_MYPYC=0 $(bin)/python -m pip install --quiet --disable-pip-version-check --no-compile '.[dev]'
	@$(compile_libraries)
	@rm -rf $(COMPILED_VENV)/build
	@touch $@

$(bench_environment) $(bench_quick_environment): override VENV = $(BENCH_VENV)
$(bench_environment) $(bench_quick_environment): override PYTHON := $(BENCH_PYTHON)
$(bench_environment): $(metadata)
	@$(make_venv)
	$(bin)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@ $(bench_quick_environment)

$(bench_quick_environment): $(metadata)
	@$(make_venv)
	$(bin)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench-quick]'
	@touch $@

$(page_environment): $(metadata) $(axe)
	@$(make_venv)
	$(bin)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev,page]'
	@$(compile)
	@touch $@ $(dev_environment) $(user_environment)

$(axe):
	@$(call have,npm,it brings axe-core)
	@mkdir -p $(dir $@)
	cd $(dir $@) && npm pack --silent axe-core@4 && tar --extract --gzip --strip-components=1 --file axe-core-*.tgz package/axe.min.js

# atheris needs a compiler on some systems, and nothing else needs atheris.
$(fuzz_environment): $(metadata)
	@$(have_python)
	test -x $(VENV)-fuzz/bin/python || '$(PYTHON)' -m venv $(VENV)-fuzz
	$(VENV)-fuzz/bin/python -m pip install --quiet --disable-pip-version-check atheris 'hpack >= 4.1' --editable .
	@touch $@

$(helm): export PATH := $(PATH):/usr/local/go/bin
$(helm): Makefile
	@$(call have,go,it builds Helm)
	@mkdir -p $(dir $@)
	GOBIN='$(abspath $(dir $@))' go install helm.sh/helm/v4/cmd/helm@$(HELM_VERSION)
	@touch $@

$(sslyze_environment):
	test -x $(VENV)-sslyze/bin/python || '$(PYTHON)' -m venv $(VENV)-sslyze
	$(VENV)-sslyze/bin/python -m pip install --quiet --disable-pip-version-check 'sslyze >= 6.3, < 7'
	@touch $@

# Sphinx and MyST are the most used makers of sites out of reStructuredText and Markdown; furo has light and dark, and asks no other host.
$(site_environment): Makefile
	@$(have_python)
	test -x $(VENV)-site/bin/python || '$(PYTHON)' -m venv $(VENV)-site
	$(VENV)-site/bin/python -m pip install --quiet --disable-pip-version-check 'sphinx >= 9, < 10' 'myst-parser >= 5, < 6' 'furo >= 2025.12.19'
	@touch $@

# Whether a program is here, and what for.
have = command -v '$(1)' >/dev/null || { echo "error: $(1) is not here; install it, $(2)" >&2; exit 1; }

define have_python
command -v '$(PYTHON)' >/dev/null || { \
	echo "error: $(PYTHON) is not here; install Python 3.11 or later, or name one: make PYTHON=python3.12" >&2; exit 1; }; \
'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "error: $$('$(PYTHON)' -V 2>&1) is too old, 3.11 or later is needed; name one: make PYTHON=python3.12" >&2; exit 1; }; \
'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || { \
	echo "error: $(PYTHON) has no venv module; install it (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
endef

# Without bytecode every start of a command would take twice as long, for ever where the environment forbids to write any.  pip
# would compile, by one process, 70 MB of classes of the Kubernetes API besides, which nobody imports: twice as much as all the rest.
compile_libraries = $(bin)/python -m compileall -q -j 0 -x 'kubernetes/(aio|client/(api|models))/(?!__init__)' $(VENV)/lib/python3*/site-packages
compile = $(compile_libraries) && $(bin)/python -m compileall -q -j 0 ingress
# And tests with what they import: by one process, while the others wait for it, that takes longer.
compile_tests = $(bin)/python -m compileall -q -j 0 tests bench compiling conformance examples scripts

define make_venv
$(have_python); \
test -x $(bin)/python || '$(PYTHON)' -m venv $(VENV)
endef
