{{/*
What becomes of values that this chart does not honor. The templates of this file put what there is to tell into the lists of the
facts that they are given: "refused", of which each fails the render, "told", "needless" and "waiting".
*/}}
{{- define "txingress.tell" -}}
{{- $_ := set .facts .list (append (get .facts .list) (dict "key" .key "told" .told)) -}}
{{- end -}}

{{- define "txingress.walk" -}}
{{- $walk := . -}}
{{- range $name, $value := .values -}}
{{- $path := ternary $name (printf "%s.%s" $walk.at $name) (eq $walk.at "") -}}
{{- $own := get $walk.tables.keys $path -}}
{{- if or (kindIs "invalid" $value) (eq $own "free") -}}
{{- else if eq $own "map" -}}
{{- if kindIs "map" $value -}}{{- include "txingress.walk" (dict "at" $path "values" $value "tables" $walk.tables "foreign" $walk.foreign "facts" $walk.facts) -}}{{- end -}}
{{- else if hasKey $walk.foreign $path -}}
{{- include "txingress.foreign" (dict "facts" $walk.facts "path" $path "row" (get $walk.foreign $path) "value" $value) -}}
{{- else if eq $path "global" -}}
{{- $registry := dig "image" "registry" "" $value -}}
{{- include "txingress.foreign" (dict "facts" $walk.facts "path" "global.image.registry" "row" (get $walk.foreign "global.image.registry") "value" $registry) -}}
{{- else -}}
{{- $beside := list -}}
{{- range $known := concat (keys $walk.tables.keys) (keys $walk.foreign) -}}
{{- $last := splitList "." $known | last -}}
{{- if eq $known (ternary $last (printf "%s.%s" $walk.at $last) (eq $walk.at "")) -}}{{- $beside = append $beside $last -}}{{- end -}}
{{- end -}}
{{- $meant := include "txingress.meant" (dict "name" $name "names" (sortAlpha $beside)) -}}
{{- $why := "neither this chart nor that of ingress-nginx has such a key" -}}
{{- if $meant -}}{{- $why = printf "%s; did you mean %s?" $why $meant -}}{{- end -}}
{{- include "txingress.tell" (dict "facts" $walk.facts "list" "refused" "key" $path "told" $why) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* One value of ingress-nginx that this chart does not have. */}}
{{- define "txingress.foreign" -}}
{{- $value := .value -}}
{{- if .row.switch -}}{{- $value = get $value .row.switch -}}{{- end -}}
{{- $asks := not (include "txingress.isEmpty" $value) -}}
{{- if hasKey .row "silent" -}}
{{- if eq (toJson $value) "false" -}}{{- $asks = true -}}{{- end -}}
{{- range .row.silent -}}{{- if eq (toJson .) (toJson $value) -}}{{- $asks = false -}}{{- end -}}{{- end -}}
{{- end -}}
{{- if $asks -}}
{{- include "txingress.tell" (dict "facts" .facts "list" (get (dict "needless" "needless" "ignored" "told" "refused" "refused") .row.becomes) "key" .path "told" .row.told) -}}
{{- end -}}
{{- end -}}

{{/* The keys of controller.config. The controller itself tells of them, too, once it runs. */}}
{{- define "txingress.configTold" -}}
{{- $facts := .facts -}}{{- $known := .tables.configKeys -}}
{{- range $name, $raw := .config -}}
{{- $text := include "txingress.text" $raw -}}
{{- $key := printf "controller.config.%s" $name -}}
{{- if hasKey $known.told $name -}}
{{- $row := get $known.told $name -}}
{{- if not (has (lower $text) $row.silent) -}}
{{- $told := $row.told -}}
{{- if eq $row.becomes "refused" -}}{{- $told = printf "%s; take the key away where something else does" $told -}}{{- end -}}
{{- include "txingress.foreign" (dict "facts" $facts "path" $key "row" (dict "becomes" $row.becomes "told" $told) "value" (printf "=%s" $text)) -}}
{{- end -}}
{{- else if not (has $name $known.known) -}}
{{- $meant := get $known.neverWere $name | default (include "txingress.meant" (dict "name" $name "names" (concat $known.known (keys $known.told) | sortAlpha))) -}}
{{- include "txingress.tell" (dict "facts" $facts "list" "told" "key" $key "told" (printf "there is no such key%s" (ternary (printf "; did you mean %s?" $meant) "" (ne $meant "")))) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
controller.extraArgs as options of this controller: "given", a dictionary of lists of texts, where a flag has an empty one.
Ports and what is about statuses have entries of their own in the facts.
*/}}
{{- define "txingress.given" -}}
{{- $facts := .facts -}}{{- $tables := .tables -}}
{{- range $name, $raw := .arguments -}}
{{- $key := printf "controller.extraArgs.%s" $name -}}
{{- $texts := list -}}
{{- range ternary $raw (list $raw) (kindIs "slice" $raw) -}}{{- $texts = append $texts (include "txingress.text" . | replace "$(POD_NAMESPACE)" $facts.namespace) -}}{{- end -}}
{{- $text := last $texts | default "" -}}
{{- $row := get $tables.arguments $name | default dict -}}
{{- $kind := get $tables.options $name -}}
{{- $option := $row.option | default (ternary $name "" (ne $kind "")) -}}
{{- $isTrue := has (lower $text) (list "" "true" "t" "1") -}}
{{- if has $name (keys $facts.chartsOwn) -}}
{{- include "txingress.tell" (dict "facts" $facts "list" "refused" "key" $key "told" (get $facts.chartsOwn $name)) -}}
{{- else if eq ($row.becomes | default "") "needless" -}}
{{- include "txingress.tell" (dict "facts" $facts "list" "needless" "key" $key "told" $row.told) -}}
{{- else if eq ($row.becomes | default "") "ignored" -}}
{{- $said := ternary (ternary "true" "false" $isTrue) $text (eq $row.type "bool") -}}
{{- if not (has $said $row.silent) -}}{{- include "txingress.tell" (dict "facts" $facts "list" "told" "key" $key "told" $row.told) -}}{{- end -}}
{{- else if eq $name "update-status" -}}
{{- if not $isTrue -}}{{- $_ := set $facts "writesNoAddress" true -}}{{- end -}}
{{- else if eq $name "http-port" -}}{{- $_ := set $facts.ports "http" (int $text) -}}
{{- else if eq $name "https-port" -}}{{- $_ := set $facts.ports "https" (int $text) -}}
{{- else if eq $name "healthz-port" -}}{{- $_ := set $facts.ports "probes" (int $text) -}}
{{- else if eq $name "v" -}}
{{- if ge (int $text) 3 -}}{{- $_ := set $facts.given "log-level" (list "debug") -}}{{- end -}}
{{- else if eq $name "election-ttl" -}}
{{- $seconds := include "txingress.seconds" $text -}}
{{- if $seconds -}}{{- $_ := set $facts.given $name (list $seconds) -}}
{{- else -}}{{- include "txingress.tell" (dict "facts" $facts "list" "refused" "key" $key "told" "is no duration in whole seconds; write 30s") -}}{{- end -}}
{{- else if and $option (or (eq (get $tables.options $option) "flag") (eq ($row.type | default "") "bool")) -}}
{{- if $isTrue -}}{{- $_ := set $facts.given $option list -}}
{{- else if not (has (lower $text) (list "false" "f" "0")) -}}
{{- include "txingress.tell" (dict "facts" $facts "list" "refused" "key" $key "told" "is true or false") -}}
{{- end -}}
{{- else if $option -}}
{{- if and (gt (len $texts) 1) (ne (get $tables.options $option) "list") -}}
{{- include "txingress.tell" (dict "facts" $facts "list" "refused" "key" $key "told" "may stand once, and has a list") -}}
{{- else if not (and (eq $text "") (has "" ($row.silent | default list))) -}}
{{- $_ := set $facts.given $option (concat (get $facts.given $option | default list) $texts) -}}
{{- end -}}
{{- else -}}
{{- $meant := include "txingress.meant" (dict "name" $name "names" (concat (keys $tables.arguments) (keys $tables.options) | uniq | sortAlpha)) -}}
{{- include "txingress.tell" (dict "facts" $facts "list" "refused" "key" $key "told" (printf "neither ingress-nginx nor this controller has such an argument%s" (ternary (printf "; did you mean %s?" $meant) "" (ne $meant "")))) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether only one Service can have this annotation: "true", or nothing. As ingressctl migrate has it. */}}
{{- define "txingress.isItsOwn" -}}
{{- $words := .tables.annotations -}}
{{- if has .name $words.names -}}true
{{- else if has .name $words.groups -}}{{- if regexMatch $words.groupName .value -}}true{{- end -}}
{{- else -}}
{{- $parts := splitList "-" (regexReplaceAll "([a-z])([A-Z])" (regexReplaceAll "[-_/.]" .name "-") "${1}-${2}") -}}
{{- $last := last $parts -}}
{{- $before := initial $parts | last | default "" -}}
{{- if and (regexMatch $words.lastWords $last) (not (has (lower $before) $words.sharedWords)) (not (has (lower .value) (list "true" "false"))) -}}true{{- end -}}
{{- end -}}
{{- end -}}
