"""Traces and metrics by OpenTelemetry, where its standard environment variables ask for them; loaded only then."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graph.watching import Span, Unwatched, Value, Watch
from memory.errors import UsageError

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SIGNALS = ("TRACES", "METRICS")
EXPORTERS = ("otlp", "console", "none")
FLUSH_SECONDS = 5.0
UNITS = {"interlock.approval.seconds": "s"}


def watch_of(environment: Mapping[str, str] | None = None) -> Watch:
    """Unwatched unless an exporter or an endpoint is named. Raises UsageError for what cannot be followed."""
    env = os.environ if environment is None else environment
    chosen = {signal: _exporter(env, signal) for signal in SIGNALS}
    if env.get("OTEL_SDK_DISABLED", "").lower() == "true" or set(chosen.values()) == {"none"}:
        return Unwatched()
    return Telemetry(env, traces=chosen["TRACES"], metrics=chosen["METRICS"])


def _exporter(env: Mapping[str, str], signal: str) -> str:
    named = env.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    if named and named not in EXPORTERS:
        remedy = f"There are: {', '.join(EXPORTERS)}."
        raise UsageError(f"OTEL_{signal}_EXPORTER={named} is not known here.", remedy=remedy, code="bad_setting")
    exporter = named or ("otlp" if env.get(ENDPOINT) or env.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") else "none")
    protocol = env.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL") or env.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    if exporter == "otlp" and protocol != "http/protobuf":
        remedy = "Set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf; collectors take it on port 4318."
        raise UsageError(f"The protocol {protocol!r} of OpenTelemetry is not spoken here.", remedy=remedy, code="bad_setting")
    return exporter


class Telemetry:
    """Spans and numbers of this process. No provider is made the global one: what other libraries do stays theirs."""

    def __init__(self, env: Mapping[str, str], *, traces: str, metrics: str) -> None:
        try:
            from opentelemetry.sdk.resources import Resource
        except ImportError:
            remedy = "python -m pip install 'interlock-agent[otel]', or unset the OTEL_ names."
            raise UsageError("OpenTelemetry is asked for, and not installed.", remedy=remedy, code="missing_extra") from None
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())  # a collector that is away must not print on a terminal
        logging.getLogger("opentelemetry").propagate = False
        is_named = env.get("OTEL_SERVICE_NAME") or "service.name" in env.get("OTEL_RESOURCE_ATTRIBUTES", "")
        resource = Resource.create({} if is_named else {"service.name": "interlock"})
        self._tracer_provider, self._meter_provider = _traces(traces, resource), _metrics(metrics, resource)
        self._tracer = self._tracer_provider.get_tracer("interlock")
        self._meter = self._meter_provider.get_meter("interlock")
        self._instruments: dict[str, Any] = {}

    @contextmanager
    def span(self, name: str, **attributes: Value | None) -> Iterator[Span]:
        from opentelemetry.trace import Status, StatusCode

        with self._tracer.start_as_current_span(
            name, attributes=_named(attributes), record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield _OtelSpan(span)
            except BaseException as error:
                if not type(error).__module__.startswith("langgraph.") and not isinstance(error, asyncio.CancelledError):
                    span.set_attribute("error.type", type(error).__name__)
                    span.set_status(Status(StatusCode.ERROR))  # its text might hold what nobody should see
                raise

    def count(self, name: str, **attributes: Value) -> None:
        self._instrument(name, lambda: self._meter.create_counter(name)).add(1, _named(attributes))

    def measure(self, name: str, value: float, **attributes: Value) -> None:
        made = self._instrument(name, lambda: self._meter.create_histogram(name, unit=UNITS.get(name, "")))
        made.record(value, _named(attributes))

    def level(self, name: str, value: int) -> None:
        self._instrument(name, lambda: self._meter.create_gauge(name)).set(value)

    def close(self) -> None:
        """Sends what is left, and waits for a collector that does not answer no longer than a person would."""

        def shut() -> None:
            self._tracer_provider.shutdown()
            self._meter_provider.shutdown()

        thread = threading.Thread(target=shut, daemon=True, name="telemetry")
        thread.start()
        thread.join(FLUSH_SECONDS)

    def _instrument(self, name: str, make: Any) -> Any:
        if name not in self._instruments:
            self._instruments[name] = make()
        return self._instruments[name]


class _OtelSpan:
    def __init__(self, span: Any) -> None:
        self._span = span

    def tell(self, **attributes: Value | None) -> None:
        self._span.set_attributes(_named(attributes))


def _named(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {f"interlock.{name}": value for name, value in attributes.items() if value is not None}


def _traces(exporter: str, resource: Any) -> Any:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    made: SpanExporter
    if exporter == "otlp":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        made = OTLPSpanExporter()
    elif exporter == "console":
        made = ConsoleSpanExporter(out=sys.stderr)
    else:
        return provider
    provider.add_span_processor(BatchSpanProcessor(made))
    return provider


def _metrics(exporter: str, resource: Any) -> Any:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, MetricExporter, PeriodicExportingMetricReader

    made: MetricExporter
    if exporter == "otlp":
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        made = OTLPMetricExporter()
    elif exporter == "console":
        made = ConsoleMetricExporter(out=sys.stderr)
    else:
        return MeterProvider(resource=resource, shutdown_on_exit=False)
    return MeterProvider([PeriodicExportingMetricReader(made)], resource=resource, shutdown_on_exit=False)
