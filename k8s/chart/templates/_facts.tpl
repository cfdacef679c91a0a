{{/*
What follows from the values, in the dictionary that it is called with, whose "root" is $: what runs, at which ports, with which
arguments and rights, and what there is to tell. Every template begins with it, and it ends the render where a value cannot be honored.
*/}}
{{- define "txingress.facts" -}}
{{- $f := . -}}{{- $root := .root -}}{{- $v := .root.Values -}}{{- $c := $v.controller -}}
{{- $tables := $root.Files.Get "files/tables.yaml" | fromYaml -}}
{{- $foreign := $root.Files.Get "files/ingress-nginx-values.yaml" | fromYaml -}}
{{- $_ := set $f "resources" $c.resources -}}
{{- range list "refused" "told" "needless" "waiting" "otherwise" -}}{{- $_ := set $f . list -}}{{- end -}}
{{- $_ := set $f "tables" $tables -}}
{{- $_ := set $f "name" (include "txingress.fullname" $root) -}}
{{- $_ := set $f "namespace" (include "txingress.namespace" $root) -}}
{{- $_ := set $f "selector" (include "txingress.selector" $root | fromYaml) -}}
{{- $_ := set $f "beside" $v.beside.enabled -}}
{{- $_ := set $f "given" dict -}}
{{- $_ := set $f "ports" (dict "http" (int $c.containerPort.http) "https" (int $c.containerPort.https) "probes" (int $c.metrics.port)) -}}
{{- $_ := set $f "chartsOwn" (dict
  "http" "controller.containerPort.http says it"
  "https" "controller.containerPort.https says it"
  "probes" "controller.metrics.port says it"
  "configmap" "the ConfigMap is the chart's own: controller.config has its keys, and controller.configMapNamespace says where it is"
  "admission" "controller.admissionWebhooks says it"
  "admission-certificate" "controller.admissionWebhooks says it"
  "admission-key" "controller.admissionWebhooks says it") -}}

{{- include "txingress.walk" (dict "at" "" "values" $v "tables" $tables "foreign" $foreign "facts" $f) -}}
{{- include "txingress.configTold" (dict "facts" $f "tables" $tables "config" $c.config) -}}
{{- include "txingress.given" (dict "facts" $f "tables" $tables "arguments" $c.extraArgs) -}}
{{- $given := $f.given -}}
{{- $_ := set $f "said" (dict "http" $f.ports.http "https" $f.ports.https) -}}
{{- if not $c.hostNetwork -}}
{{- range $name, $usual := dict "http" 80 "https" 443 -}}
{{- if ne (int (get $f.ports $name)) $usual -}}
{{- $_ := set $f.ports $name $usual -}}
{{- include "txingress.tell" (dict "facts" $f "list" "needless" "key" (printf "controller.containerPort.%s" $name) "told" "Services find the ports by their names, and redirects to HTTPS name none") -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- if not $v.image.repository -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "image.repository" "told" (printf "name your image, for there is no public one: docker build --tag REGISTRY/txingress:%s . in the repository, docker push, and --set image.repository=REGISTRY/txingress" $root.Chart.AppVersion)) -}}
{{- end -}}

{{/* What runs, and who reaches it. */}}
{{- $isDaemonSet := eq $c.kind "DaemonSet" -}}
{{- $isOnNode := or $c.hostNetwork $c.hostPort.enabled -}}
{{- $isScoped := or $c.scope.enabled $v.rbac.scope -}}
{{- if and $v.rbac.scope (not $c.scope.enabled) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "rbac.scope" "told" "without rights in the cluster nothing can be read but in namespaces that are named: set controller.scope.enabled, and controller.scope.namespace") -}}
{{- end -}}
{{- $_ := set $f "isDaemonSet" $isDaemonSet -}}{{- $_ := set $f "isOnNode" $isOnNode -}}{{- $_ := set $f "isScoped" $isScoped -}}
{{- $_ := set $f "namespaces" ($c.scope.namespaces | default (list ($c.scope.namespace | default $f.namespace))) -}}
{{- $_ := set $f "servesGateways" (and $c.gatewayAPI.enabled (not $isScoped) (not (hasKey $given "no-gateway-api"))) -}}
{{- if and $c.autoscaling.enabled $c.keda.enabled -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "controller.keda.enabled" "told" "controller.autoscaling.enabled says how many replicas there are, too; one of the two can") -}}
{{- end -}}
{{- if and $isDaemonSet (or $c.autoscaling.enabled $c.keda.enabled) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "told" "key" (ternary "controller.autoscaling" "controller.keda" $c.autoscaling.enabled) "told" "a DaemonSet has one pod on each node") -}}
{{- end -}}
{{- $_ := set $f "isScaled" (and (not $isDaemonSet) (or $c.autoscaling.enabled $c.keda.enabled)) -}}
{{- if and $c.autoscaling.enabled $c.autoscaling.targetCPUUtilizationPercentage (eq (dig "requests" "cpu" "" $c.resources | toString) "100m") -}}
{{- include "txingress.tell" (dict "facts" $f "list" "told" "key" "controller.autoscaling.targetCPUUtilizationPercentage" "told" "it is percent of controller.resources.requests.cpu, of which 100m is little for this controller: say how much one replica takes there, or leave the percentage out for half of a processor (docs/sizing.md)") -}}
{{- end -}}

{{/* Services. */}}
{{- $s := $c.service -}}
{{- $external := and $s.enabled $s.external.enabled -}}
{{- $internal := and $s.enabled $s.internal.enabled (not (empty $s.internal.annotations)) -}}
{{- if and $s.enabled $s.internal.enabled (not $internal) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "told" "key" "controller.service.internal.enabled" "told" "no second Service is made without controller.service.internal.annotations, as in ingress-nginx") -}}
{{- end -}}
{{- $_ := set $f "external" $external -}}{{- $_ := set $f "internal" $internal -}}
{{- $_ := set $f "serviceName" ($s.nameOverride | default $f.name) -}}
{{- $_ := set $f "internalName" ($s.internal.nameOverride | default (printf "%s-internal" $f.name)) -}}
{{- $internalType := $s.internal.type | default $s.type -}}
{{- $isBalanced := or (and $external (eq $s.type "LoadBalancer")) (and $internal (eq $internalType "LoadBalancer")) -}}
{{- $families := list -}}
{{- range list (dict "on" $external "of" $s) (dict "on" $internal "of" $s.internal) -}}
{{- if .on -}}
{{- $families = concat $families (.of.ipFamilies | default list) -}}
{{- if has .of.ipFamilyPolicy (list "PreferDualStack" "RequireDualStack") -}}{{- $families = concat $families (list "IPv4" "IPv6") -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range $port, $number := $c.containerPort -}}
{{- if and (not (has $port (list "http" "https"))) (not (has (int $number) (list (int $f.said.http) (int $f.said.https)))) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "told" "key" (printf "controller.containerPort.%s" $port) "told" "nothing listens there: the controller has one port of HTTP and one of HTTPS, besides those of tcp and udp") -}}
{{- end -}}
{{- end -}}

{{/* Statuses. */}}
{{- $publish := "" -}}
{{- if and $s.enabled $c.publishService.enabled (or $external $internal) -}}
{{- $publish = ternary "" $c.publishService.pathOverride $f.beside | default (printf "%s/%s" $f.namespace (ternary $f.serviceName $f.internalName $external)) -}}
{{- end -}}
{{- if $f.beside -}}
{{- range $key, $said := dict "controller.publishService.pathOverride" $c.publishService.pathOverride "controller.extraArgs.publish-service" (get $given "publish-service") -}}
{{- if $said -}}{{- include "txingress.tell" (dict "facts" $f "list" "waiting" "key" $key "told" "Ingresses show the address of this release's own Service") -}}{{- end -}}
{{- end -}}
{{- $_ := unset $given "publish-service" -}}
{{- end -}}
{{- with get $given "publish-service" -}}{{- $publish = last . -}}{{- end -}}
{{- $publish = $publish | replace "$(POD_NAMESPACE)" $f.namespace -}}
{{- if and $f.beside (hasKey $given "publish-status-address") -}}
{{- include "txingress.tell" (dict "facts" $f "list" "waiting" "key" "controller.extraArgs.publish-status-address" "told" "this address leads to the other one") -}}
{{- $_ := unset $given "publish-status-address" -}}
{{- end -}}
{{- if or $f.writesNoAddress (hasKey $given "publish-status-address") -}}{{- $publish = "" -}}{{- end -}}
{{- $showsNodes := and (not $publish) (not $f.writesNoAddress) (not (hasKey $given "publish-status-address")) (not $isScoped) -}}
{{- if kindIs "bool" $c.publishNodeAddresses -}}{{- $showsNodes = $c.publishNodeAddresses -}}{{- end -}}
{{- if hasKey $given "publish-node-addresses" -}}{{- $showsNodes = true -}}{{- end -}}
{{- if and $showsNodes $isScoped -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "controller.publishNodeAddresses" "told" "addresses of nodes take a right in the whole cluster, and controller.scope is without one") -}}
{{- end -}}
{{- $_ := set $f "showsNodes" $showsNodes -}}{{- $_ := set $f "publish" $publish -}}
{{- $showsInternal := or (and $c.reportNodeInternalIp $c.hostNetwork) (hasKey $given "report-node-internal-ip-address") -}}
{{- $_ := unset $given "report-node-internal-ip-address" -}}

{{/* Classes, and the election. */}}
{{- $class := dict "name" $c.ingressClassResource.name "controller" $c.ingressClassResource.controllerValue "byName" $c.ingressClass "isMade" (and $c.ingressClassResource.enabled (not $v.rbac.scope)) "isDefault" $c.ingressClassResource.default "aliases" ($c.ingressClassResource.aliases | default list) -}}
{{- with get $given "controller-class" -}}{{- $_ := set $class "controller" (last .) -}}{{- end -}}
{{- with get $given "ingress-class" -}}{{- $_ := set $class "byName" (last .) -}}{{- end -}}
{{- if $isScoped -}}{{- $_ := set $class "byName" $class.name -}}{{- end -}}
{{- if $c.watchIngressWithoutClass -}}{{- $_ := set $given "watch-without-class" list -}}{{- end -}}
{{- if $c.ingressClassByName -}}{{- $_ := set $given "ingress-class-by-name" list -}}{{- end -}}
{{- $election := $c.electionID -}}
{{- with get $given "election-id" -}}{{- $election = last . -}}{{- end -}}
{{- if $f.beside -}}
{{- $wait := dict "controller.watchIngressWithoutClass" (hasKey $given "watch-without-class") "controller.ingressClassByName" (hasKey $given "ingress-class-by-name") -}}
{{- range $key, $said := $wait -}}{{- if $said -}}
{{- include "txingress.tell" (dict "facts" $f "list" "waiting" "key" $key "told" "both would serve these Ingresses") -}}
{{- end -}}{{- end -}}
{{- $_ := unset $given "watch-without-class" -}}{{- $_ := unset $given "ingress-class-by-name" -}}
{{- if $class.isDefault -}}{{- include "txingress.tell" (dict "facts" $f "list" "waiting" "key" "controller.ingressClassResource.default" "told" "one class alone can be the default") -}}{{- end -}}
{{- if $class.aliases -}}{{- include "txingress.tell" (dict "facts" $f "list" "waiting" "key" "controller.ingressClassResource.aliases" "told" "these objects are the other one's") -}}{{- end -}}
{{- if $election -}}{{- include "txingress.tell" (dict "facts" $f "list" "waiting" "key" "controller.electionID" "told" "the lease of that name is the other one's, and one of the two alone would write statuses") -}}{{- end -}}
{{- $election = "" -}}
{{- $class = dict "name" $v.beside.ingressClass "controller" $v.beside.controllerValue "byName" $v.beside.ingressClass "isMade" $class.isMade "isDefault" false "aliases" list -}}
{{- if $isOnNode -}}{{- include "txingress.tell" (dict "facts" $f "list" "waiting" "key" (ternary "controller.hostNetwork" "controller.hostPort" $c.hostNetwork) "told" "pods wait for ports of a node as long as the other one has them: other nodes, by controller.nodeSelector, have none of it") -}}{{- end -}}
{{- end -}}
{{- $_ := set $f "class" $class -}}
{{- $_ := set $f "election" ($election | default (printf "%s-leader" $f.name)) -}}

{{/* ConfigMaps. */}}
{{- $_ := set $f "configNamespace" ($c.configMapNamespace | default $f.namespace) -}}
{{- $config := dict -}}
{{- if not (kindIs "string" $c.allowSnippetAnnotations) -}}{{- $_ := set $config "allow-snippet-annotations" (toString $c.allowSnippetAnnotations) -}}{{- end -}}
{{- if $c.addHeaders -}}{{- $_ := set $config "add-headers" (printf "%s/%s-add-headers" $f.namespace $f.name) -}}{{- end -}}
{{- if $c.proxySetHeaders -}}{{- $_ := set $config "proxy-set-headers" (printf "%s/%s-proxy-set-headers" $f.namespace $f.name) -}}{{- end -}}
{{- range $name, $raw := $c.config -}}{{- $_ := set $config $name (tpl (include "txingress.text" $raw) $root) -}}{{- end -}}
{{- $_ := set $f "config" $config -}}
{{- $streams := dict -}}
{{- range $protocol := list "tcp" "udp" -}}
{{- $option := printf "%s-services-configmap" $protocol -}}
{{- $place := "" -}}
{{- with get $given $option -}}{{- $place = last . -}}{{- end -}}
{{- if get $v $protocol -}}{{- $place = printf "%s/%s-%s" (dig $protocol "configMapNamespace" "" $c | default $f.namespace) $f.name $protocol -}}{{- end -}}
{{- $_ := unset $given $option -}}
{{- if $place -}}{{- $_ := set $streams $protocol $place -}}{{- end -}}
{{- end -}}
{{- $_ := set $f "streams" $streams -}}

{{/* The end of a pod: docs/shutdown.md. */}}
{{- $delay := ternary 10 (ternary 35 5 $isBalanced) $isOnNode -}}
{{- $delayText := include "txingress.text" $c.shutdownDelaySeconds -}}
{{- with get $given "shutdown-delay" -}}{{- $delayText = last . -}}{{- end -}}
{{- if $delayText -}}{{- $delay = include "txingress.seconds" $delayText | default "" | int -}}
{{- if not (include "txingress.seconds" $delayText) -}}{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "controller.shutdownDelaySeconds" "told" "is no number of seconds") -}}{{- end -}}
{{- end -}}
{{- $graceText := get $config "shutdown-grace" | default (get $config "worker-shutdown-timeout") | default "30" -}}
{{- with get $given "shutdown-grace" -}}{{- $graceText = last . -}}{{- end -}}
{{- $grace := include "txingress.seconds" $graceText | default "30" | int -}}
{{- $needed := add $delay $grace 10 | int -}}
{{- $_ := set $f "terminationSeconds" (max $needed (int $c.terminationGracePeriodSeconds)) -}}
{{- if and $c.terminationGracePeriodSeconds (lt (int $c.terminationGracePeriodSeconds) $needed) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "needless" "key" "controller.terminationGracePeriodSeconds" "told" (printf "%d is taken, or the pod would be killed while it serves: %d before nothing new is accepted (controller.shutdownDelaySeconds), and %d for what runs (--shutdown-grace)" $needed $delay $grace)) -}}
{{- end -}}
{{- $period := max 1 (int $c.readinessProbe.periodSeconds) | int -}}
{{- $failures := ternary 4 (add 2 (ceil (divf $delay $period)) | int) (and (eq $delay 5) (eq $period 2)) -}}
{{- $_ := set $f "readinessFailures" (max $failures (int $c.readinessProbe.failureThreshold)) -}}
{{- if and $c.readinessProbe.failureThreshold (lt (int $c.readinessProbe.failureThreshold) $failures) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "needless" "key" "controller.readinessProbe.failureThreshold" "told" (printf "%d is taken: a pod that ends is not ready at once, and nodes send connections there for %d seconds more" $failures $delay)) -}}
{{- end -}}

{{/* Arguments. */}}
{{- $inside := ternary ":interface=127.0.0.1" "" (and $c.hostNetwork (not $c.metrics.enabled)) -}}
{{- $_ := set $f "probesHost" (ternary "127.0.0.1" "" (ne $inside "")) -}}
{{- $transport := ternary "tcp6" "tcp" (eq (first $families | default "") "IPv6") -}}
{{- $arguments := list (printf "--probes=%s:%d%s" (ternary "tcp" $transport (ne $inside "")) $f.ports.probes $inside) "--admin=tcp:10253:interface=127.0.0.1" (printf "--configmap=%s/%s" $f.configNamespace $f.name) -}}
{{- if has "IPv6" $families -}}
{{- range list "http" "https" -}}
{{- if or (has "IPv4" $families) -}}{{- $arguments = append $arguments (printf "--%s=tcp:%d" . (get $f.ports .)) -}}{{- end -}}
{{- $arguments = append $arguments (printf "--%s=tcp6:%d" . (get $f.ports .)) -}}
{{- end -}}
{{- else -}}
{{- range $name, $usual := dict "http" 80 "https" 443 -}}
{{- if ne (int (get $f.ports $name)) $usual -}}{{- $arguments = append $arguments (printf "--%s=tcp:%d" $name (get $f.ports $name)) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if $publish -}}{{- $arguments = append $arguments (printf "--publish-service=%s" $publish) -}}{{- end -}}
{{- if ne $delay 5 -}}{{- $arguments = append $arguments (printf "--shutdown-delay=%d" $delay) -}}{{- end -}}
{{- $arguments = append $arguments (printf "--election-id=%s" $f.election) -}}
{{- if $isScoped -}}
{{- range $f.namespaces -}}{{- $arguments = append $arguments (printf "--namespace=%s" .) -}}{{- end -}}
{{- else if and $c.scope.namespaceSelector (not (hasKey $given "namespace")) -}}
{{- $_ := set $given "watch-namespace-selector" (list $c.scope.namespaceSelector) -}}
{{- end -}}
{{- if $isScoped -}}{{- $_ := unset $given "namespace" -}}{{- $_ := unset $given "watch-namespace-selector" -}}{{- end -}}
{{- $_ := set $f "selectsNamespaces" (hasKey $given "watch-namespace-selector") -}}
{{- if not $f.servesGateways -}}{{- $arguments = append $arguments "--no-gateway-api" -}}{{- end -}}
{{- if ne $class.byName "nginx" -}}{{- $arguments = append $arguments (printf "--ingress-class=%s" ($class.byName | default $class.name)) -}}{{- end -}}
{{- if ne $class.controller "k8s.io/ingress-nginx" -}}{{- $arguments = append $arguments (printf "--controller-class=%s" $class.controller) -}}{{- end -}}
{{- range $protocol, $place := $streams -}}{{- $arguments = append $arguments (printf "--%s-services-configmap=%s" $protocol $place) -}}{{- end -}}
{{- $_ := set $f "isZoned" (or $c.enableTopologyAwareRouting (hasKey $given "enable-topology-aware-routing")) -}}
{{- if and $f.isZoned $isScoped -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "controller.enableTopologyAwareRouting" "told" "the zone is read from the Node, which takes a right in the whole cluster, and controller.scope is without one; name it by controller.extraArgs.zone in a release for each zone") -}}
{{- end -}}
{{- if $f.isZoned -}}{{- $arguments = append $arguments "--enable-topology-aware-routing" -}}{{- end -}}
{{- if $showsNodes -}}
{{- $arguments = append $arguments "--publish-node-addresses" -}}
{{- if $showsInternal -}}{{- $arguments = append $arguments "--report-node-internal-ip-address" -}}{{- end -}}
{{- end -}}
{{- if and $c.electionTTL (not (hasKey $given "election-ttl")) -}}
{{- $seconds := include "txingress.seconds" (toString $c.electionTTL) -}}
{{- if $seconds -}}{{- $arguments = append $arguments (printf "--election-ttl=%s" $seconds) -}}
{{- else -}}{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "controller.electionTTL" "told" "is no duration in whole seconds; write 30s") -}}{{- end -}}
{{- end -}}
{{- $backend := include "ingress-nginx.defaultBackend.fullname" $root -}}
{{- $image := $v.defaultBackend.image -}}
{{- $hasBackend := and $v.defaultBackend.enabled (or $image.repository $image.image) -}}
{{- if and $v.defaultBackend.enabled (not $hasBackend) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "told" "key" "defaultBackend.enabled" "told" "without an image in defaultBackend.image none is made; the controller answers 404 itself to what nobody takes") -}}
{{- end -}}
{{- if and $hasBackend $isScoped (not (has $f.namespace $f.namespaces)) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "defaultBackend.enabled" "told" (printf "its Service would be in the namespace %s, which controller.scope does not let the controller read" $f.namespace)) -}}
{{- end -}}
{{- $_ := set $f "backend" "" -}}
{{- if $hasBackend -}}{{- $_ := set $f "backend" $backend -}}{{- end -}}
{{- if and $f.backend (not (hasKey $given "default-backend-service")) -}}{{- $arguments = append $arguments (printf "--default-backend-service=%s/%s" $f.namespace $backend) -}}{{- end -}}
{{- $_ := set $f "hasWebhook" (and $c.admissionWebhooks.enabled (not $v.rbac.scope)) -}}
{{- if and $c.admissionWebhooks.enabled $v.rbac.scope -}}
{{- include "txingress.tell" (dict "facts" $f "list" "told" "key" "controller.admissionWebhooks.enabled" "told" "a webhook belongs to the whole cluster, of which rbac.scope makes nothing") -}}
{{- end -}}
{{- if $f.hasWebhook -}}
{{- $arguments = concat $arguments (list (printf "--admission=%s:%d" $transport (int $c.admissionWebhooks.port)) "--admission-certificate=/etc/txingress/admission/tls.crt" "--admission-key=/etc/txingress/admission/tls.key") -}}
{{- end -}}
{{- range list "no-gateway-api" "publish-service" "controller-class" "ingress-class" "election-id" "shutdown-delay" "enable-topology-aware-routing" "publish-node-addresses" -}}{{- $_ := unset $given . -}}{{- end -}}
{{- range $name, $texts := $given -}}
{{- if eq (len $texts) 0 -}}{{- $arguments = append $arguments (printf "--%s" $name) -}}{{- end -}}
{{- range $texts -}}{{- $arguments = append $arguments (printf "--%s=%s" $name .) -}}{{- end -}}
{{- end -}}
{{- $_ := set $f "arguments" $arguments -}}

{{/* The firewall: what asks for it takes processes, and these take memory beside what the controller has (docs/firewall.md). */}}
{{- $processes := dig "firewall-processes" list $given | last | default "0" | int -}}
{{- $isOff := list "" "off" "false" "f" "0" -}}
{{- if and (hasKey $given "firewall-processes") (lt $processes 1) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "controller.extraArgs.firewall-processes" "told" "is a whole number from 1; take the key away for no firewall") -}}
{{- end -}}
{{- if lt $processes 1 -}}
{{- $lacking := "there is no firewall without controller.extraArgs.firewall-processes: set that to 2, with an image that was built with --build-arg FIREWALL=yes" -}}
{{- range $name := list "enable-modsecurity" "enable-owasp-modsecurity-crs" "modsecurity-snippet" -}}
{{- if hasKey $given $name -}}{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" (printf "controller.extraArgs.%s" $name) "told" $lacking) -}}{{- end -}}
{{- if not (has (get $config $name | default "" | trim | lower) $isOff) -}}
{{- $isGuard := eq $name "enable-modsecurity" -}}
{{- include "txingress.tell" (dict "facts" $f "list" (ternary "refused" "told" $isGuard) "key" (printf "controller.config.%s" $name) "told" $lacking) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- $workers := dig "workers" list $given | last | default "1" | int | max 1 -}}
{{- $each := 512 -}}
{{- with dig "firewall-memory" list $given | last -}}
{{- $number := regexFind "^[0-9]+" . | int -}}
{{- if regexMatch "^[0-9]+[mM]$" . -}}{{- $each = $number -}}{{- else if regexMatch "^[0-9]+[gG]$" . -}}{{- $each = mul 1024 $number -}}{{- end -}}
{{- end -}}
{{- $all := mul $processes $workers -}}
{{- $resources := deepCopy $c.resources -}}
{{- range $place, $usual := dict "requests" "128Mi" "limits" "512Mi" -}}
{{- if eq (dig $place "memory" "" $resources | toString) $usual -}}
{{- $more := mul $all (ternary 64 $each (eq $place "requests")) -}}
{{- $_ := set (get $resources $place) "memory" (printf "%dMi" (add (ternary 128 512 (eq $place "requests")) $more)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $f "resources" $resources -}}
{{- $limit := dig "limits" "memory" "" $resources | toString -}}
{{- $whole := add 512 (mul $all $each) -}}
{{- $_ := set $f "firewall" (dict "processes" $all "each" $each "whole" $whole "limit" $limit) -}}
{{- end -}}

{{/* What cannot start. */}}
{{- $context := include "txingress.containerContext" $root | fromYaml -}}
{{- if and (not $context.privileged) (not (has "NET_BIND_SERVICE" (dig "capabilities" "add" list $context))) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" "controller.containerSecurityContext.capabilities" "told" "without NET_BIND_SERVICE in add the interpreter of the image does not start, whatever ports it binds (k8s/README.md)") -}}
{{- end -}}
{{- if $f.beside -}}
{{- range $key, $said := dict "controller.service.nameOverride" $s.nameOverride "controller.service.internal.nameOverride" $s.internal.nameOverride -}}
{{- if $said -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" $key "told" "with beside.enabled there is a Service of its own; take the key away until the other one is gone") -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Defaults that are others than those of ingress-nginx, and that somebody may rely on. */}}
{{- if not (or (hasKey $config "allow-snippet-annotations") (hasKey $config "annotations-risk-level") (hasKey $given "allow-snippet-annotations") (hasKey $given "annotations-risk-level")) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "otherwise" "key" "controller.allowSnippetAnnotations" "told" "snippets of Ingresses are honored, as data (docs/snippets.md); where it was not set, ingress-nginx ignored them, and so does false here") -}}
{{- end -}}
{{- if and $external (eq $s.type "LoadBalancer") (not $s.externalTrafficPolicy) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "otherwise" "key" "controller.service.externalTrafficPolicy" "told" "it is Local, so that the addresses of clients are known; where it was not set, ingress-nginx had Cluster") -}}
{{- end -}}

{{/* What a Service makes of the rest is told by its own template. */}}
{{- if $external -}}{{- include "txingress.servicePorts" (dict "facts" $f "key" "controller.service" "of" $s) -}}{{- include "txingress.besideTold" (dict "facts" $f "key" "controller.service" "of" $s) -}}{{- end -}}
{{- if $internal -}}{{- include "txingress.servicePorts" (dict "facts" $f "key" "controller.service.internal" "of" $s.internal) -}}{{- include "txingress.besideTold" (dict "facts" $f "key" "controller.service.internal" "of" $s.internal) -}}{{- end -}}

{{- if and $v.strict (or $f.told $f.waiting) -}}
{{- range concat $f.told $f.waiting -}}{{- $_ := set $f "refused" (append $f.refused .) -}}{{- end -}}
{{- end -}}
{{- if $f.refused -}}
{{- $lines := list -}}
{{- range $f.refused -}}{{- $lines = append $lines (printf "%s: %s" .key .told) -}}{{- end -}}
{{- fail (printf "\n%s" (join "\n" $lines)) -}}
{{- end -}}
{{- end -}}

{{/* The port of the container that a port of a Service leads to, put into "targets" by its name, or refused. */}}
{{- define "txingress.servicePorts" -}}
{{- $f := .facts -}}{{- $c := $f.root.Values.controller -}}
{{- $targets := get $f "targets" | default dict -}}
{{- range $name := list "http" "https" -}}
{{- $target := get ($.of.targetPorts | default dict) $name | default (get $c.service.targetPorts $name) -}}
{{- $isOn := ternary $c.service.enableHttp $c.service.enableHttps (eq $name "http") -}}
{{- $text := include "txingress.text" $target -}}
{{- $number := get $c.containerPort $text | default 0 | int -}}
{{- $found := "" -}}
{{- range list "http" "https" -}}
{{- if or (eq $text .) (eq $text (printf "%d" (int (get $f.said .)))) (and (ne $number 0) (eq $number (int (get $f.said .)))) -}}{{- if not $found -}}{{- $found = . -}}{{- end -}}{{- end -}}
{{- end -}}
{{- if has $text (list "http" "https") -}}{{- $found = $text -}}{{- end -}}
{{- if and $isOn (not $found) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "refused" "key" (printf "%s.targetPorts.%s" $.key $name) "told" (printf "nothing listens at %s: the ports are http and https. Where a load balancer ends TLS, let it send the PROXY protocol, let port 443 lead to http, and port 80, too (docs/tls.md)" $text)) -}}
{{- end -}}
{{- $_ := set $targets (printf "%s.%s" $.key $name) $found -}}
{{- end -}}
{{- $_ := set $f "targets" $targets -}}
{{- end -}}

{{/* What of a Service waits until ingress-nginx is gone. */}}
{{- define "txingress.besideTold" -}}
{{- $f := .facts -}}{{- $key := .key -}}{{- $of := .of -}}
{{- if $f.beside -}}
{{- range list "clusterIP" "clusterIPs" "externalIPs" "loadBalancerIP" "healthCheckNodePort" "nodePorts" -}}
{{- if not (include "txingress.isEmpty" (get $of .)) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "waiting" "key" (printf "%s.%s" $key .) "told" "one Service alone can have it") -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $of.annotations -}}
{{- if include "txingress.isItsOwn" (dict "tables" $f.tables "name" $name "value" (toString $value)) -}}
{{- include "txingress.tell" (dict "facts" $f "list" "waiting" "key" (printf "%s.annotations.%s" $key $name) "told" "one Service alone can have it") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
