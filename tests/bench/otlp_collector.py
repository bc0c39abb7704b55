"""A collector of OTLP over HTTP: takes traces and metrics as protobuf, decodes them, and keeps them."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest, ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

ROUTES: dict[str, tuple[Any, Any]] = {
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
}


class Collector:
    """`raw` is every body as it came; `spans` and `metrics` are what they hold."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []
        self.received: dict[str, list[Any]] = {path: [] for path in ROUTES}
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
                assert self.headers["Content-Type"] == "application/x-protobuf"
                request, response = ROUTES[self.path]
                message = request()
                message.ParseFromString(body)
                collector.raw.append(body)
                collector.received[self.path].append(message)
                answer = response().SerializeToString()
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def services(self) -> set[str]:
        resources = [one.resource for message in self.received["/v1/traces"] for one in message.resource_spans]
        return {attribute.value.string_value for one in resources for attribute in one.attributes if attribute.key == "service.name"}

    @property
    def spans(self) -> list[tuple[str, dict[str, Any]]]:
        """(name, attributes), in the order in which they ended."""
        found = [span for message in self.received["/v1/traces"] for one in message.resource_spans for scope in one.scope_spans
                 for span in scope.spans]  # fmt: skip
        return [(span.name, {one.key: _value(one.value) for one in span.attributes}) for span in found]

    @property
    def metrics(self) -> dict[str, Any]:
        """The last value of each: of a counter or a gauge its number, of a histogram how many values it has."""
        found: dict[str, Any] = {}
        for message in self.received["/v1/metrics"]:
            for one in (metric for res in message.resource_metrics for scope in res.scope_metrics for metric in scope.metrics):
                points = one.sum.data_points or one.gauge.data_points
                found[one.name] = points[-1].as_int if points else sum(point.count for point in one.histogram.data_points)
        return found


def _value(value: Any) -> Any:
    return getattr(value, str(value.WhichOneof("value")))
