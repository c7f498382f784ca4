"""Scores sent to platforms: the real SDKs, against servers on loopback that keep what they are
sent."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.integrations import otlp
from claimeval.testing import ScriptedJudge
from claimeval.types.progress import Progress
from tests.command_line import call, spawn

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "question": "How tall is the tower?",
        "answer": "The tower is 63 metres tall. It is green.",
        "contexts": ["The tower is 63 metres tall."],
        "metadata": {"trace_id": TRACE, "span_id": SPAN, "response_id": "chatcmpl-1"},
    },
    {
        "id": "b",
        "question": "Who built it?",
        "answer": "Anna Muster built it.",
        "contexts": ["Anna Muster built it."],
    },
    {
        "id": "c",
        "question": "Why?",
        "answer": "",
        "contexts": ["No."],
        "metadata": {"trace_id": "1" * 32},
    },
]


@pytest.fixture(scope="module")
def run() -> ce.Run:
    return ce.score(ROWS, judges="local:lexical", metrics="faithfulness")


@dataclass
class Server:
    """A server that keeps requests and answers with one reply."""

    url: str = ""
    status: int = 200
    reply: bytes = b""
    content_type: str = "application/json"
    requests: list[tuple[str, Mapping[str, str], bytes]] = field(default_factory=list)


@contextmanager
def serving(**settings: Any) -> Iterator[Server]:
    found = Server(**settings)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.requests.append(
                (self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            )
            self.send_response(found.status)
            self.send_header("Content-Type", found.content_type)
            self.send_header("Content-Length", str(len(found.reply)))
            self.end_headers()
            self.wfile.write(found.reply)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def events(server: Server) -> list[Any]:
    """The events that a collector was sent, decoded by OpenTelemetry's own messages."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    found = []
    for path, headers, body in server.requests:
        assert (path, headers["content-type"]) == ("/v1/logs", "application/x-protobuf")
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
            found += [record for scope in resource.scope_logs for record in scope.log_records]
    return found


def values(record: Any) -> dict[str, Any]:
    """The attributes of an event."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in record.attributes}


def test_scores_and_verdicts_are_events_of_their_trace(run: ce.Run) -> None:
    seen: list[Progress] = []
    with serving(content_type="application/x-protobuf") as collector:
        sent = run.push("otlp", url=collector.url, progress=seen.append)
        found = events(collector)
        run.push("otlp", url=collector.url)
        again = events(collector)[len(found) :]
    assert sent.where == collector.url
    assert sent.records == {"scores": 3, "claim verdicts": 3}
    assert sent.left_out == {"without a trace, sent by themselves": 1}
    assert [one.done for one in seen] == [6]
    assert {record.event_name for record in found} == {"gen_ai.evaluation.result"}
    score, supported, green = (record for record in found if record.trace_id.hex() == TRACE)
    assert {record.span_id.hex() for record in (score, supported, green)} == {SPAN}
    told = values(score)
    assert told["gen_ai.evaluation.name"] == "faithfulness"
    assert told["gen_ai.evaluation.score.value"] == 0.5
    assert told["gen_ai.response.id"] == "chatcmpl-1"
    assert told["gen_ai.evaluation.explanation"].startswith(
        "faithfulness is 0.50 (1 of 2 claims)\nnot_found: It is green."
    )
    assert (told["claimeval.hits"], told["claimeval.judged"], told["claimeval.sample"]) == (
        1,
        2,
        "a",
    )
    told = values(green)
    assert told["gen_ai.evaluation.name"] == "faithfulness.claim"
    assert (told["gen_ai.evaluation.score.label"], told["gen_ai.evaluation.score.value"]) == (
        "not_found",
        0.0,
    )
    assert (told["claimeval.claim"], told["claimeval.evidence"]) == ("It is green.", "contexts")
    assert values(supported)["gen_ai.evaluation.score.label"] == "supported"
    alone = next(record for record in found if values(record)["claimeval.sample"] == "b")
    assert not alone.trace_id
    assert values(alone)["gen_ai.evaluation.score.value"] == 1.0
    (undefined,) = (record for record in found if values(record)["claimeval.sample"] == "c")
    assert values(undefined)["error.type"] == "no_claims"
    assert "gen_ai.evaluation.score.value" not in values(undefined)
    ids = [values(record)["log.record.uid"] for record in found]
    assert len(set(ids)) == len(ids)
    assert [(values(one)["log.record.uid"], one.time_unix_nano) for one in again] == [
        (name, one.time_unix_nano) for name, one in zip(ids, found, strict=True)
    ]


def test_the_names_are_those_of_the_conventions() -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names
    from opentelemetry.semconv._incubating.attributes import log_attributes as logs

    assert otlp.SEMCONV == {
        "name": names.GEN_AI_EVALUATION_NAME,
        "value": names.GEN_AI_EVALUATION_SCORE_VALUE,
        "label": names.GEN_AI_EVALUATION_SCORE_LABEL,
        "explanation": names.GEN_AI_EVALUATION_EXPLANATION,
        "response": names.GEN_AI_RESPONSE_ID,
        "because": "error.type",
        "id": logs.LOG_RECORD_UID,
    }


def test_a_collector_is_found_by_the_usual_variables(
    run: ce.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(content_type="application/x-protobuf") as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=search")
        run.push("otlp")
        ((_, headers, _),) = collector.requests
    assert headers["x-team"] == "search"


def test_a_collector_that_refuses_is_an_error_of_one_line(run: ce.Run) -> None:
    with serving(status=400) as collector, pytest.raises(ce.UsageError) as told:
        run.push("otlp", url=collector.url)
    assert str(told.value).startswith(
        f"otlp at {collector.url}: Failed to export logs batch code: 400"
    )
    assert "\n" not in str(told.value)


def test_an_address_that_takes_traces_only_is_said(run: ce.Run, tmp_path: Path) -> None:
    """In a process of its own, because the exporter does not log the same problem twice within
    seconds."""
    folder = run.save(tmp_path / "run")
    with serving(status=404) as collector:
        done = spawn("push", folder, "--to", "otlp", "--url", collector.url, exits=2)
    assert done.returncode == 2
    assert "code: 404" in done.stderr
    assert "It may take traces only: scores are events" in done.stderr


@pytest.mark.parametrize(
    ("platform", "cannot"),
    [
        ("otlp", "Platforms that take traces only do not take events"),
        ("mlflow", "Traces get no scores"),
        ("langfuse", "Undefined scores, and samples without a trace, do not arrive"),
        ("phoenix", "Undefined scores, and samples without a trace, do not arrive"),
    ],
)
def test_the_command_says_what_does_not_arrive(
    run: ce.Run, tmp_path: Path, platform: str, cannot: str
) -> None:
    folder = run.save(tmp_path / "run")
    told = call("push", folder, "--to", platform, "--dry-run", "--json").stdout
    assert cannot in json.loads(told)["note"]
    assert cannot in call("push", folder, "--to", platform, "--dry-run").stdout


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-1")


@pytest.mark.usefixtures("keys")
def test_scores_of_traces_go_to_langfuse(run: ce.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(status=202, reply=b'{"message": "Accepted"}') as server:
        monkeypatch.setenv("LANGFUSE_BASE_URL", server.url)
        sent = run.push("langfuse")
        run.push("langfuse")
        (path, headers, body), second = server.requests
    assert sent.records == {"scores": 1}
    assert sent.left_out == {"undefined": 1, "without a trace": 1}
    assert path == "/api/public/scores"
    assert headers["authorization"] == "Basic cGstbGYtMTpzay1sZi0x"
    (score,) = json.loads(body)
    assert (score["traceId"], score["name"], score["value"]) == (TRACE, "faithfulness", 0.5)
    assert score["dataType"] == "NUMERIC"
    assert "not_found: It is green." in score["comment"]
    assert [claim["label"] for claim in score["metadata"]["claims"]] == ["supported", "not_found"]
    assert score["metadata"]["claims"][1]["claim"] == "It is green."
    assert json.loads(second[2]) == [score], "the same id, so that it is replaced"


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("status", "reply", "problem"),
    [
        (
            401,
            b'{"message": "Invalid credentials"}',
            "HTTP 401: check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY",
        ),
        (
            207,
            b'{"accepted": 0, "rejected": 1, "errors": [{"message": "bad name"}]}',
            "1 of 1 scores were rejected: bad",
        ),
    ],
)
def test_what_langfuse_refuses_is_said(
    run: ce.Run, status: int, reply: bytes, problem: str
) -> None:
    with serving(status=status, reply=reply) as server, pytest.raises(ce.UsageError, match=problem):
        run.push("langfuse", url=server.url)


def test_langfuse_needs_keys_and_traces(run: ce.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGFUSE_SECRET_KEY", raising=False)
    with pytest.raises(ce.UsageError, match="set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY"):
        run.push("langfuse")
    with pytest.raises(
        ce.UsageError, match=r"no sample has a trace for langfuse in metadata.request; .* --field"
    ):
        run.push("langfuse", field="request")
    assert run.push("langfuse", field="id", dry_run=True).records == {"scores": 2}


def test_scores_of_spans_go_to_phoenix(run: ce.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a server of arize-phoenix 20.26 stores them: tried by hand with its package."""
    monkeypatch.setenv("PHOENIX_API_KEY", "px-1")
    with serving(status=200, reply=b'{"data": [{"id": "1"}]}') as server:
        monkeypatch.setenv("PHOENIX_COLLECTOR_ENDPOINT", server.url)
        sent = run.push("phoenix")
        run.push("phoenix")
        (path, headers, body), second = server.requests
    assert sent.records == {"span annotations": 1}
    assert sent.left_out == {"undefined": 1, "without a trace": 1}
    assert path == "/v1/span_annotations?sync=true"
    assert headers["authorization"] == "Bearer px-1"
    (annotation,) = json.loads(body)["data"]
    assert (annotation["span_id"], annotation["name"]) == (SPAN, "faithfulness")
    assert annotation["result"]["score"] == 0.5
    assert "not_found: It is green." in annotation["result"]["explanation"]
    assert annotation["annotator_kind"] == "CODE", "no model was asked"
    labels = [claim["label"] for claim in annotation["metadata"]["claims"]]
    assert labels == ["supported", "not_found"]
    assert json.loads(second[2])["data"] == [annotation], "the same identifier: it is replaced"


def test_a_sample_without_a_span_is_annotated_by_its_trace() -> None:
    rows = [
        {**ROWS[0], "metadata": {"trace_id": f"0x{TRACE.upper()}"}},
        {**ROWS[1], "metadata": {}},
    ]
    found = ce.score(rows, judges="local:lexical", metrics="faithfulness")
    with serving(status=200, reply=b'{"data": [{"id": "1"}]}') as server:
        sent = found.push("phoenix", url=f"{server.url}/v1/traces")
        ((path, _, body),) = server.requests
    assert sent.records == {"trace annotations": 1}
    assert path == "/v1/trace_annotations?sync=true"
    assert json.loads(body)["data"][0]["trace_id"] == TRACE


@pytest.mark.parametrize(
    ("status", "reply", "problem"),
    [
        (401, b"Invalid token", "HTTP 401: set PHOENIX_API_KEY"),
        (404, b"Spans with IDs ff do not exist.", "HTTP 404: it has no such span: Spans with IDs"),
        (422, b"bad name", "HTTP 422: bad name"),
    ],
)
def test_what_phoenix_refuses_is_said(run: ce.Run, status: int, reply: bytes, problem: str) -> None:
    with serving(status=status, reply=reply) as server, pytest.raises(ce.UsageError, match=problem):
        run.push("phoenix", url=server.url)


def test_phoenix_needs_a_trace_and_an_answer(run: ce.Run) -> None:
    with pytest.raises(ce.UsageError, match=r"phoenix at http://127.0.0.1:9: "):
        run.push("phoenix", url="http://127.0.0.1:9")
    found = ce.score(ROWS[1:2], judges="local:lexical", metrics="faithfulness")
    with pytest.raises(ce.UsageError, match="no sample has a trace for phoenix"):
        found.push("phoenix")


def test_an_unknown_platform_and_a_missing_package_are_said(
    run: ce.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ce.UsageError, match="unknown platform 'mlfow'"):
        run.push("mlfow")  # type: ignore[arg-type]
    for name in ("mlflow", "mlflow.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ce.UsageError, match="pushing to mlflow needs mlflow"):
        run.push("mlflow", url="sqlite://")


def test_the_command_counts_in_a_dry_run(run: ce.Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "run")
    done = call(
        "push", folder, "--to", "otlp", "--dry-run", "--json", "--url", "http://collector:4318"
    )
    told = json.loads(done.stdout)
    assert told["records"] == {"scores": 3, "claim verdicts": 3}
    assert (told["to"], told["where"], told["dry_run"]) == ("otlp", "http://collector:4318", True)
    done = call("push", folder, "--to", "mlflow", "--dry-run")
    assert (
        "To send: metrics 7, parameters 4, tables 4, reports 1; to experiment claimeval"
        in done.stdout
    )


def test_an_empty_run_has_nothing_to_send_and_an_unknown_platform_is_that_of_to(
    run: ce.Run, tmp_path: Path
) -> None:
    empty = run.save(tmp_path / "empty")
    (empty / "results.jsonl").write_text("")
    assert "To send: nothing; to http" in call("push", empty, "--to", "otlp", "--dry-run").stdout
    done = call("push", empty, "--to", "mlfow", "--dry-run", exits=2)
    assert (
        "unknown value of --to: 'mlfow'. Did you mean 'mlflow'? Known: langfuse, mlflow, otlp,"
        " phoenix" in done.stderr
    )


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store of MLflow."""
    pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    pytest.importorskip("sqlalchemy")
    return f"sqlite:///{tmp_path}/mlflow.db"


@pytest.mark.filterwarnings("ignore")
def test_a_run_of_mlflow_has_metrics_tables_and_the_report(
    run: ce.Run, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)
    pushed = run.push("mlflow", url=store, experiment="answers")
    assert pushed.records == {"metrics": 7, "parameters": 4, "tables": 4, "reports": 1}
    client = mlflow.MlflowClient(tracking_uri=store)
    experiment = client.get_experiment_by_name("answers")
    assert experiment
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FINISHED"
    metric = run["faithfulness"]
    assert found.data.metrics["faithfulness"] == metric.mean == 0.75
    assert found.data.metrics["faithfulness.n"] == 2
    assert found.data.params["faithfulness.ends"] == metric.ends == "interval"
    assert found.data.metrics["faithfulness.low"] == metric.low
    assert found.data.params["judges"] == "local:lexical"
    assert len(client.get_metric_history(found.info.run_id, "faithfulness")) == 1
    names = {one.path for one in client.list_artifacts(found.info.run_id)}
    assert names == {"samples.json", "claims.json", "verdicts.json", "calls.json", "report.html"}
    page = Path(client.download_artifacts(found.info.run_id, "report.html", str(tmp_path)))
    assert "faithfulness" in page.read_text()
    mlflow.set_tracking_uri(store)
    mlflow.set_experiment("answers")
    table = mlflow.load_table("samples.json", run_ids=[found.info.run_id])
    assert list(table["faithfulness"])[:2] == [0.5, 1.0]


@pytest.mark.filterwarnings("ignore")
def test_a_second_push_to_mlflow_changes_nothing(
    run: ce.Run, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)
    client = mlflow.MlflowClient(tracking_uri=store)

    def state() -> list[object]:
        (logged,) = client.search_runs(["1"])
        files = {file.stat().st_mtime_ns for file in tmp_path.glob("mlruns/**/*") if file.is_file()}
        return [logged.info.end_time, logged.to_dictionary(), files]

    first = run.push("mlflow", url=store)
    before = state()
    second = run.push("mlflow", url=store)
    assert (second.records, second.where) == ({}, f"{first.where}, which has them already")
    assert state() == before


@pytest.mark.filterwarnings("ignore")
def test_a_push_to_mlflow_that_was_cut_off_is_completed(
    run: ce.Run, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)
    client = mlflow.MlflowClient(tracking_uri=store)
    run.push("mlflow", url=store)
    (found,) = client.search_runs(["1"])
    client.delete_tag(found.info.run_id, "claimeval.content")
    client.log_text(found.info.run_id, "half", "report.html")
    assert run.push("mlflow", url=store).records["reports"] == 1
    (again,) = client.search_runs(["1"])
    assert again.info.run_id == found.info.run_id
    page = Path(client.download_artifacts(again.info.run_id, "report.html", str(tmp_path)))
    assert "faithfulness" in page.read_text()


@pytest.mark.filterwarnings("ignore")
def test_mlflow_gets_bounds_where_the_interval_is_withdrawn(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two claims has a label: two answers show nothing, so the bounds with their sampling
    error are 0 and 1."""
    import mlflow

    judge = ScriptedJudge({"It is green.": "supported"}, default="unsure")
    rows = [
        {"question": f"{text}?", "answer": text, "contexts": ["C."]}
        for text in ("It is green.", "It is tall.")
    ]
    monkeypatch.chdir(tmp_path)
    ce.score(rows, judges=judge, metrics="faithfulness").push("mlflow", url=store)
    (found,) = mlflow.MlflowClient(tracking_uri=store).search_runs(["1"])
    ends = found.data.metrics["faithfulness.low"], found.data.metrics["faithfulness.high"]
    assert ends == (0.0, 1.0)
    assert found.data.metrics["faithfulness.assessed_only"] == 1.0
    assert "faithfulness" not in found.data.metrics
    assert found.data.params["faithfulness.ends"] == "bounds"


@pytest.mark.filterwarnings("ignore")
def test_scorers_of_mlflow(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    genai = pytest.importorskip("mlflow.genai")
    from claimeval.integrations.mlflow import scorers

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAIMEVAL_CACHE", str(tmp_path / "cache"))
    mlflow.set_tracking_uri(store)
    mlflow.set_experiment("answers")
    data = [
        {
            "inputs": {"question": row["question"], "contexts": row["contexts"]},
            "outputs": row["answer"],
        }
        for row in ROWS[:2]
    ]
    found = genai.evaluate(data=data, scorers=scorers("faithfulness", judge="local:lexical"))
    assert found.metrics["faithfulness/mean"] == 0.75
    assert sorted(found.result_df["faithfulness/value"]) == [0.5, 1.0]
    with mlflow.start_span("find", span_type="RETRIEVER") as span:
        span.set_outputs([mlflow.entities.Document(page_content=ROWS[0]["contexts"][0], id="d1")])
    trace = mlflow.get_trace(span.trace_id, flush=True)
    judged = scorers("faithfulness", judge="local:lexical")[0]
    feedback = judged(inputs=ROWS[0]["question"], outputs=ROWS[0]["answer"], trace=trace)
    expected = ce.check(
        ROWS[0]["answer"],
        ROWS[0]["contexts"][:1],
        judge="local:lexical",
        question=ROWS[0]["question"],
    )
    assert feedback.value == expected.faithfulness
    assert feedback.value
