"""Names in rules that libmodsecurity 3 knows; it refuses a whole rule set over another one.  All in lower case.

Source: https://github.com/owasp-modsecurity/ModSecurity/wiki/Reference-Manual-(v3.x), and which of these version 3.0.9 takes.
"""

from typing import Final

_VARIABLES: Final = """
args args_combined_size args_get args_get_names args_names args_post args_post_names auth_type duration env files
files_combined_size files_names files_sizes files_tmp_content files_tmpnames full_request full_request_length geo global
highest_severity inbound_data_error ip matched_var matched_var_name matched_vars matched_vars_names modsec_build
msc_pcre_error msc_pcre_limits_exceeded multipart_boundary_quoted multipart_boundary_whitespace multipart_crlf_lf_lines
multipart_data_after multipart_data_before multipart_file_limit_exceeded multipart_filename multipart_header_folding
multipart_invalid_header_folding multipart_invalid_part multipart_invalid_quoting multipart_lf_line
multipart_missing_semicolon multipart_name multipart_part_headers multipart_semicolon_missing multipart_strict_error
multipart_unmatched_boundary outbound_data_error path_info query_string remote_addr remote_host remote_port remote_user
reqbody_error reqbody_error_msg reqbody_processor reqbody_processor_error reqbody_processor_error_msg request_basename
request_body request_body_length request_cookies request_cookies_names request_filename request_headers
request_headers_names request_line request_method request_protocol request_uri request_uri_raw resource response_body
response_content_length response_content_type response_headers response_headers_names response_protocol response_status
rule server_addr server_name server_port session sessionid status status_line time time_day time_epoch time_hour
time_min time_mon time_sec time_wday time_year tx unique_id urlencoded_error user userid webappid xml
"""
VARIABLES: Final = frozenset(_VARIABLES.split())
_TRANSFORMATIONS: Final = """
base64decode base64decodeext base64encode cmdline compresswhitespace cssdecode escapeseqdecode hexdecode hexencode
htmlentitydecode jsdecode length lowercase md5 none normalisepath normalisepathwin normalizepath normalizepathwin
parityeven7bit parityodd7bit parityzero7bit removecomments removecommentschar removenulls removewhitespace
replacecomments replacenulls sha1 sqlhexdecode trim trimleft trimright uppercase urldecode urldecodeuni urlencode
utf8tounicode
"""
TRANSFORMATIONS: Final = frozenset(_TRANSFORMATIONS.split())
PHASES: Final = frozenset(("0", "1", "2", "3", "4", "5", "request", "response", "logging"))
