// Lines of programs that serve or infer (PaddleX, vLLM, SGLang, ONNX Runtime, OpenVINO, Burn) and
// of the servers that a run needs: hubs, object stores, registries, databases.
// Sources: vLLM's v1/engine, SGLang's srt/managers, PaddleX's utils/deps, onnxruntime's
// core/session, OpenVINO's core, CubeCL's memory management.
#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

const std::string_view kServingSignatures = R"rows(
# Servers of language models.
ascend_stream_timeout communication_stall primary 0.6 stream sync timeout|Stream synchronize timeout
vllm_block_wait communication_stall at_end 0.5 No available shared memory broadcast block found
stalled_call communication_stall symptom 0.72 RPC call to \w+ timed out|Communicator ranks have different \w+ operation counts|\d+ ranks have launched up to operation
server_watchdog stalled primary 0.8 Watchdog timeout \((?:self\.watchdog_timeout|limit \d)|Failed with result 'watchdog'
kernel_died process_failed symptom 0.4 KernelRestarter: restarting kernel|\bkernel\b.{0,60} appears to have died|\bDeadKernelError\b
request_wait_limit worker_timeout primary 0.75 upstream timed out|maximum wait time is|" 504 Gateway Time
worker_timeout worker_timeout primary 0.9 \[CRITICAL\] WORKER TIMEOUT|worker.{0,40}(?:timed out|timeout).{0,60}(?:killing|terminat|restart|sending SIG)|HARAKIRI ON WORKER|uWSGI worker \d+ \(pid: \d+\) is taking too much time|upstream worker timed out
ack_timeout worker_timeout primary 0.93 delivery acknowledgement on channel \d+ timed out|timed out waiting for a consumer acknowledgement
orderly_stop terminated_from_outside note 0.05 \[INFO\] Shutting down: Master
store_full store_full primary 0.95 command not allowed when used memory > 'maxmemory'
wgpu_buffer request_too_large primary 0.92 Buffer size \d+ is greater than the maximum buffer size
triton_batching bad_configuration primary 0.92 for the model to support batching the shape should have|no optimization profile has been defined
server_overloaded server_overloaded symptom 0.7 HTTP 429\b|\b429 Too Many Requests|"code": ?429\b|server is busy: no slot|\b503\b.{0,60}(?:queue (?:is )?full|overloaded|no slot|no free slot)|Exceeds maximum queue size|(?:request )?queue (?:is )?full\b|maximum queue size (?:reached|exceeded)|(?:async|listen) queue is full|queue of socket .{0,40}is full|too many (?:concurrent|pending|running) requests
no_connection_left server_overloaded primary 0.9 (?i:too many (?:client|connection)s\b|remaining connection slots are reserved|max number of clients reached|(?-i:\(SlowDown\)|RequestLimitExceeded|ThrottlingException)|reduce your request rate)
head_not_loaded checkpoint_mismatch note 0.5 newly initialized: \[.*(?:lm_head|classifier|\bhead|decoder|ctc|output_projection)|You should probably TRAIN this model|^size mismatch for \S+: copying a param|model and loaded state dict do not match exactly
request_refused process_failed note 0.05 " 4\d\d (?:Bad Request|Unprocessable|Not Found|(?:Payload|Content|Request Entity) Too Large|Unsupported Media)
retried_ok process_failed note 0.05 (?i)\b(?:ok|succeeded|passed|recovered|done) (?:on|at|after) (?:\d+ )?(?:attempts?|retr(?:y|ies)|try|tries)\b|network error resolved|\bsucceeded after \d+ (?:retr|attempt)|\bretry (?:succeeded|successful)|\battempt \d+(?:/\d+)? (?:succeeded|was successful)
serving_request_failed process_failed note 0.2 500 Internal Server Error|"errorCode": ?500
# Inference engines and page programs.
# Which of a server's models or replicas: a place, no cause.
tesseract_language missing_file primary 0.9 couldn't load any languages|Failed loading language|does not have language data for|Error opening data file \S+\.traineddata
tensorrt_plan engine_plan_mismatch primary 0.9 engine plan file is (?:generated on an incompatible device|not compatible)|(?:Version|Magic) tag does not match|Engine deserialization failed|serializationVersion failed
engine_no_model missing_file primary 0.86 NO_SUCHFILE|Load model .* failed\. File doesn't exist|Could not open the file: |Unable to read the model: .* Please check that model format|Model file .* cannot be opened|Empty weights data in bin file|OSError: cannot open resource|Resource \S+ not found\.|Can't find model '|python3?: can't open file|execvp error on file|Could not find the program
onnx_provider cuda_library_missing symptom 0.5 Failed to load library libonnxruntime_providers_\w+\.so|LoadLibrary failed with error \d+.*onnxruntime_providers|Failed to create \w+ExecutionProvider
onnx_fallback cuda_library_missing note 0.2 Falling back to \['\w+ExecutionProvider'|(?i:\b(?:active|session|actual|applied) providers\b.{0,6}')(?:CUDA|ROCM|OpenVINO)ExecutionProvider|\b(?:uses|using|running on) (?:GPU|CPU)? ?\(?(?:CUDA|CPU|TensorRT|OpenVINO|ROCM)ExecutionProvider
openvino_no_device no_gpu_visible primary 0.8 as no supported devices found|Device with "\w+" name is not registered|No device with \w+ name is registered
model_version library_conflict primary 0.9 Unsupported (?:operator|model IR) version|(?:[Oo]pset|IR) version \d+ is not supported|[Uu]nsupported ONNX opset|ONNX Runtime only \*guarantees\* support for models stamped with official released onnx opset versions|(?:only supports|max supported) (?:opset|IR) (?:version )?|Opset \d+ is under development
# The network.
hub_unreachable remote_unreachable primary 0.85 curl: \((?:5|6)\) Could not resolve|Could not resolve host: \w|No model (?:hoster|source) is available|No available model hosting platforms|LocalEntryNotFoundError|[Cc]ouldn't connect to '?https?://|outgoing traffic has been disabled|OfflineModeIsEnabled|[Dd]ownload failed: https?:|Cannot (?:reach|connect to) (?:https?://|the (?:model|hub))|[Cc]heck your (?:internet|network) connection
download_failed remote_unreachable primary 0.75 Failed downloading url|50\d Server Error: |communicate with backend after|HTTPS?ConnectionPool\(host=|urlopen error|Max retries exceeded with url|Downloading from \S+ failed|requests\.exceptions\.(?:ConnectionError|ConnectTimeout|ReadTimeout|ProxyError)|Tunnel connection failed|NewConnectionError|NameResolutionError|Failed to establish a new connection|wget: unable to resolve|EndpointConnectionError|ConnectTimeoutError|ClientConnectorError|httpx\.Connect(?:Error|Timeout)|error sending request for url
dial_failed remote_unreachable primary 0.87 dial tcp: lookup |(?:pull|resolve|fetch|Head) .{0,160}https://.{0,200}dial tcp|https://.{0,160}(?:Client\.Timeout exceeded|TLS handshake timeout|net/http: request canceled)
proxy_login remote_unreachable primary 0.85 407 Proxy Authentication
network_words remote_unreachable symptom 0.45 Network is unreachable|No route to host|WinError 10061\]|[Nn]etwork error \(\w*(?:Timeout|Error)\)|curl: \((?:7|28|35|52|56)\)
store_down remote_unreachable primary 0.8 redis\.exceptions\.(?:ConnectionError|TimeoutError|BusyLoadingError)|psycopg2?\.(?:errors\.)?OperationalError|sqlalchemy\.exc\.OperationalError|pymongo\.errors\.(?:ServerSelectionTimeoutError|AutoReconnect)|kombu\.exceptions\.OperationalError|consumer: Cannot connect to|NoBrokersAvailable|pika\.exceptions\.AMQP\w*|(?:connect|connection) to (?:redis|postgres\w*|mysql|mongo\w*|rabbitmq|kafka|minio|triton)\S* .{0,60}(?:refused|failed|timed out)
grpc_unavailable remote_unreachable symptom 0.55 StatusCode\.UNAVAILABLE|failed to connect to all addresses
reconnected remote_unreachable note 0.05 (?i:\bconnected to (?:redis|amqp|postgres|mysql|mongo|kafka|https?:)|connection (?:restored|re-?established)|\breconnected|(?:^\W*|: |\] )(?:\[?rank ?\d+\]? )?downloaded\b|download (?:complete|finished))|Model files already exist\. Using cached files
request_size request_too_large primary 0.8 (?:^|[^ "]|[^"] )413 (?:Request Entity|Content) Too Large|client intended to send too large body|longer than the maximum model length|is too long to fit into the model|maximum context length is \d|Received message larger than max|Sent message larger than max|[Rr]equest body (?:is )?too large|RequestEntityTooLarge|exceeds limit of \d+ pixels
# Credentials, clocks, certificates.
model_gated access_refused primary 0.9 \bGatedRepoError\b|\bgated repo\b|Access to (?:model|dataset) \S+ is restricted
access_refused access_refused primary 0.9 \b(?:ExpiredToken(?:Exception)?|InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied(?:Exception)?|TokenRefreshRequired|InvalidClientTokenId|UnrecognizedClientException|NoCredentialsError|PartialCredentialsError|AuthorizationFailure|DefaultCredentialsError)\b|Unable to locate credentials|api_key not configured|An error occurred \(40[13]\)|40[13] Client Error|HTTP Error 40[13]|[Ss]tatus(?: code)?[ :=]+40[13]\b|unexpected status.{0,300}40[13]\b|Invalid (?:username or password|user ?token|API key|credentials)|does not have storage\.objects|\[Errno 12[67]\]|unauthorized: |denied: requested access|no basic auth credentials|pull access denied
licence_refused access_refused primary 0.9 (?i:\blicen[cs]e\b.{0,60}\b(?:(?:has|is) expired|expired on|not (?:found|valid|activated)|is invalid|check ?out failed|limit (?:reached|exceeded))|no (?:valid )?licen[cs]e (?:found|available))
access_words access_refused primary 0.8 Error uploading run: returned error 40[0-9]|(?:[Tt]oken|[Cc]redentials?|[Ll]icen[cs]e|API key|API token) (?:has |have |is |are |was )?(?:already )?(?:expired|revoked|invalid|not valid)|[Ll]icen[cs]e (?:check|server|checkout|key)[^.]{0,40}(?:failed|denied|expired|not found)|Failed checkout licen|invalid_grant|[Aa]uthentication (?:failed|required|is required)|429 Client Error|HTTP Error 429|toomanyrequests|pull rate limit|You have reached your .{0,30}rate limit|REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed|Host key for \S+ has changed
clock_wrong clock_wrong primary 0.9 not yet valid|not valid yet|RequestTimeTooSkewed|Signature not yet current|[Cc]lock skew (?:is )?too (?:great|large)|used before (?:issued|its )|system (?:clock|time) is (?:wrong|in the past|not set|behind|ahead)|before the 'Not Before' time|(?:[Ee]xpired|[Rr]ewound) credential|out of sync clocks
clock_not_synchronised clock_wrong note 0.3 System clock synchronized: no
tls_failed tls_failed primary 0.9 CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError|certificate (?:verify failed|has expired)|signed by unknown authority|self[- ]signed certificate|unable to get (?:local )?issuer certificate|SSL certificate problem|WRONG_VERSION_NUMBER|server certificate verification failed|PKIX path building failed|tlsv1 alert|x509: certificate|UnknownIssuer|current time \S+ is after \d|certificate (?:verify failed: certificate )?has expired \(
)rows";

}  // namespace ocrtune
