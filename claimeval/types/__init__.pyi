"""What type checkers know of `claimeval.types`: the names of `_HOMES`, with their types."""

from claimeval.data.survey import Survey as Survey
from claimeval.evaluation.forecast import Forecast as Forecast
from claimeval.evaluation.manifest import Manifest as Manifest
from claimeval.metrics.scoring import MetricSummary as MetricSummary
from claimeval.runs.agreement import Agreement as Agreement
from claimeval.runs.annotation import Annotation as Annotation
from claimeval.runs.correct import Correction as Correction
from claimeval.runs.slices import Slices as Slices
from claimeval.types.errors import PromptError as PromptError
from claimeval.types.estimates import Cost as Cost
from claimeval.types.estimates import Estimate as Estimate
from claimeval.types.probes import Probe as Probe
from claimeval.types.progress import Progress as Progress
from claimeval.types.records import Assessment as Assessment
from claimeval.types.records import Call as Call
from claimeval.types.records import Claim as Claim
from claimeval.types.records import Evidence as Evidence
from claimeval.types.records import SampleResult as SampleResult
from claimeval.types.records import Score as Score
from claimeval.types.records import Verdict as Verdict
from claimeval.types.scales import Scale as Scale

_HOME_OF: dict[str, str]
__all__: list[str]

def __getattr__(name: str) -> object: ...
