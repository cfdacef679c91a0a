"""The configuration that ModSecurity recommends, as ingress-nginx has it where an Ingress says nothing else.

It only detects.  The numbers are those of ``modsecurity.conf-recommended``, by which rules are removed and told of.  Beside it
nothing is audited here.

Source: https://github.com/owasp-modsecurity/ModSecurity/blob/v3/master/modsecurity.conf-recommended.
"""

from typing import Final

PROPERTIES: Final = {
    "SecRuleEngine": "DetectionOnly",
    "SecRequestBodyAccess": "On",
    "SecRequestBodyLimit": "13107200",
    "SecRequestBodyNoFilesLimit": "131072",
    "SecRequestBodyLimitAction": "Reject",
    "SecRequestBodyJsonDepthLimit": "512",
    "SecArgumentsLimit": "1000",
    "SecPcreMatchLimit": "1000",
    "SecPcreMatchLimitRecursion": "1000",
    "SecResponseBodyAccess": "On",
    "SecResponseBodyLimit": "524288",
    "SecResponseBodyLimitAction": "ProcessPartial",
    "SecAuditEngine": "Off",
    "SecAuditLogParts": "ABIJDEFHZ",
    "SecAuditLogRelevantStatus": "^(?:5|4(?!04))",
    "SecArgumentSeparator": "&",
    "SecCookieFormat": "0",
}

ANSWER_TYPES: Final = ("text/plain", "text/html", "text/xml")

_XML: Final = "(?:application(?:/soap\\+|/)|text/)xml"
_JSON: Final = "^application/(?:[a-z0-9.+-]+[+])?json"
_MULTIPART_FAULTS: Final = (
    "REQBODY_PROCESSOR_ERROR",
    "MULTIPART_BOUNDARY_QUOTED",
    "MULTIPART_BOUNDARY_WHITESPACE",
    "MULTIPART_DATA_BEFORE",
    "MULTIPART_DATA_AFTER",
    "MULTIPART_HEADER_FOLDING",
    "MULTIPART_LF_LINE",
    "MULTIPART_MISSING_SEMICOLON",
    "MULTIPART_INVALID_QUOTING",
    "MULTIPART_INVALID_PART",
    "MULTIPART_INVALID_HEADER_FOLDING",
    "MULTIPART_FILE_LIMIT_EXCEEDED",
)
_FAULTS_SHOWN: Final = ", ".join(f"{name} %{{{name}}}" for name in _MULTIPART_FAULTS)

RULES: Final = "\n".join(
    (
        f'SecRule "REQUEST_HEADERS:Content-Type" "@rx {_XML}"'
        ' "id:200000,phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=XML"',
        f'SecRule "REQUEST_HEADERS:Content-Type" "@rx {_JSON}"'
        ' "id:200001,phase:1,t:none,t:lowercase,pass,nolog,ctl:requestBodyProcessor=JSON"',
        'SecRule "&ARGS" "@ge 1000"'
        " \"id:200007,phase:2,t:none,log,deny,status:400,msg:'More arguments than are looked at',severity:2\"",
        'SecRule "REQBODY_ERROR" "!@eq 0"'
        " \"id:200002,phase:2,t:none,log,deny,status:400,msg:'The request body cannot be read',"
        "logdata:'%{reqbody_error_msg}',severity:2\"",
        'SecRule "MULTIPART_STRICT_ERROR" "!@eq 0"'
        " \"id:200003,phase:2,t:none,log,deny,status:400,msg:'A multipart body has faults: "
        + _FAULTS_SHOWN
        + "'\"",
        'SecRule "MULTIPART_UNMATCHED_BOUNDARY" "@eq 1"'
        " \"id:200004,phase:2,t:none,log,deny,msg:'A multipart body may have another boundary than it says'\"",
        'SecRule "TX:/^MSC_/" "!@streq 0"'
        " \"id:200005,phase:2,t:none,deny,msg:'ModSecurity came to a limit of its own: %{MATCHED_VAR_NAME}'\"",
    )
)
