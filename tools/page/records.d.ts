// Written by tools/page/records.py from the records in Python. `make records` writes it again.

declare namespace Page {
  type Agreement = { items: number; questions: number; unmatched: number; labels: HumanLabelCounts; raters: Array<RaterReport>; slices: Array<RaterSlice>; pairs: Array<RaterPair>; asked_later: Array<string>; alpha: Estimate | null; ac1: Estimate | null; judges: Array<JudgeNumbers>; disputes: Array<Dispute>; ratings: RatingAgreement | null; assessors: Record<string, GraderReport>; notes: Array<string> };
  type ArmFlip = { sample_id: string; question: string; subject: string; claim: string; of: string; evidence: Evidence; a: "supported" | "contradicted" | "not_found"; b: "supported" | "contradicted" | "not_found"; a_word: string | null; b_word: string | null; a_explanation: string | null; b_explanation: string | null; arm: string };
  type ArmMetric = { mean: number | null; low: number | null; high: number | null; n: number; clusters: number; because: string | null; unit: string; missing: Record<string, number>; micro: number | null; bounds: [number, number] | null; ends: "interval" | "bounds" | "none"; sampling: [number, number] | null; total: number | null; judged: number | null; hits: number | null; unassessed: Record<string, number>; ungrounded: number; unasked: number; failure_rate: number; by_judge: Record<string, MetricSummary>; difference: Estimate | null; p: number | null; p_adjusted: number | null };
  type ArmResult = { name: string; run: string; metrics: Record<string, ArmMetric>; claims: number; unassessed_rate: number | null; parse_failure_rate: number | null; flips: number; compared: number; relabeled: number; labeled_once: number; cost: Cost; new_calls: number; median_latency: number | null; label_agreement: LabelAgreement | null; extraction: ExtractionSummary | null; covers_less: string | null };
  type CalibrationPoint = { n: number; probability: number; share: number; low: number; high: number };
  type CalibrationReport = { n: number; bins: Array<CalibrationPoint>; error: number | null; brier: number | null };
  type CausePart = { cause: string; value: number; claims: number | null; samples: number; largest: Array<ChangedClaim>; name: string | null; names: number; together: boolean; parts: Array<CausePart> };
  type CauseSlice = { field: string; value: string; samples: number; affected: number; contribution: number; share: number };
  type ChangeSlice = { value: string | null; metric: string; n: number; a: number | null; b: number | null; difference: Estimate; contribution: number | null };
  type ChangeSlices = { field: string; rows: Array<ChangeSlice> };
  type ChangedClaim = { sample_id: string; subject: string | null; run: "a" | "b"; claim: string | null; a: "supported" | "contradicted" | "not_found" | null; b: "supported" | "contradicted" | "not_found" | null; value: number };
<<<<<<< HEAD
  type Cost = { calls: number; reused: number; prompt_tokens: number | null; completion_tokens: number | null; cached_tokens: number | null; dollars: number | null; seconds: number | null };
  type Culprit = { sentence: string; metric: string | null; significant: boolean; cause: string | null; causes: Array<CausePart>; documents: Array<DocumentChange>; slices: Array<CauseSlice>; separate: string | null };
  type DataSource = { path: string | null; digest: string | null; samples: number | null; limit: number | null; mapping: Record<string, string | Array<string>> };
=======
  type Cost = { calls: number; reused: number; prompt_tokens: number | null; completion_tokens: number | null; cached_tokens: number | null; verdicts: number; dollars: number | null; dollars_per_verdict: number | null; seconds: number | null };
  type DataSource = { path: string | null; digest: string | null; samples: number | null; limit: number | null; fields: Record<string, string> };
>>>>>>> fdb9d36c (A thousand verdicts have a price everywhere, chunks are even for any number of claims, and costs are counted with 9 and 14 claims an answer)
  type DiagnosisCounts = { threshold: number; cells: Record<string, number>; incorrect: Record<string, number>; correctness: boolean; undefined: number };
  type DiscordantCounts = { only_a: number; only_b: number; p: number };
  type Dispute = { sample: string; subject: string; claim: string; of: string; evidence: Evidence; votes: Record<string, string>; entropy: number };
  type DocumentChange = { name: string; change: "lost" | "gained" | "rewritten"; samples: number; value: number };
  type Estimate = { value: number | null; low: number | null; high: number | null; n: number; clusters: number; because: string | null; ends: "interval" | "bounds" | "none"; sampling: [number, number] | null };
  type Evidence = { part: string; document: number | null; order: number | null };
  type ExperimentResult = { data: string; baseline: string; samples: number; clusters: number; cluster: string | null; arms: Array<ArmResult>; failed: Record<string, string>; selection: Selection | null };
  type ExtractionSummary = { part: string; texts: number; all_texts: number; sentences: number; claims: number; measures: Record<string, Ratio>; unclaimed: Record<string, number>; people: Record<string, Ratio>; remarks: Array<string> };
  type FailedReply = { sample_id: string; step: string; call: string; reply: string | null; message: string | null };
  type FailureExample = { sample: string; judge: string; excerpt: string };
  type Flip = { sample_id: string; question: string; subject: string; claim: string; of: string; evidence: Evidence; a: "supported" | "contradicted" | "not_found"; b: "supported" | "contradicted" | "not_found"; a_word: string | null; b_word: string | null; a_explanation: string | null; b_explanation: string | null };
  type Front = { head: string; notes: Array<Note>; scores: Array<FrontScore>; missing: string | null; few: string | null; sentence: string | null; read: Array<WorstClaim> };
  type FrontScore = { name: string; value: string; share: number | null; ends: string; bounds: boolean; counts: string };
  type GraderReport = { pairs: number; unassessed: number; further: number; relevant_from: number; exact: Estimate; kappa: Estimate | null; kappa_quadratic: Estimate | null; kappa_binary: Estimate; labels: Array<number>; confusion: Array<Array<number>>; orders: Array<Order>; refused: Array<Refused> };
  type HumanLabelCounts = { blank: number; undecided: number; disputed: number; conflicting: number; differing: number; divided: number };
  type JsonValue = any;
  type Judge = { name: string; model: string; endpoint: string | null; temperature: number | null; top_p: number | null; max_tokens: number; token_limit: "max_tokens" | "max_completion_tokens" | null; context_tokens: number | null; claims_per_call: number | "auto" | null; seed: number | null; reasoning_effort: string | null; top_logprobs: number | null; structured: boolean; reply_schema: "list" | "closed"; key_variable: string | null; headers: Record<string, string>; query: Record<string, string>; extra: Record<string, JsonValue>; uncounted: boolean; family: string | null; price: JudgePrice | null; num_gpus: number | null; batch: boolean; learned: Learned };
  type JudgeNumbers = { judge: string; verdicts: number; dollars_per_1000: number | null; seconds: number | null; compared: number; agrees_with: "people" | "panel" | null; agreement: number | null; kappa: number | null; kappa_with_judges: number | null; odd_one: boolean; on_front: boolean; labels: Array<string>; confusion: Array<Array<number>>; failed: Record<string, number>; examples: Record<string, FailedReply> };
  type JudgeOverview = { name: string; short: string; model: string; endpoint: string | null; served_models: Record<string, number>; prompts: Array<string>; extractions: number; assessments: number; failed: Record<string, number>; replies: number; cost: Cost; assessment_cost: Cost; seconds: number | null; examples: Record<string, FailedReply>; uncounted: number; verdicts: number; labels: LabelCounts };
  type JudgePrice = { input: number; output: number };
  type LabelAgreement = { claims: number; accuracy: Estimate; balanced_accuracy: Estimate; kappa: Estimate; same: Estimate; unassessed: number; mean_kappa: number | null; standard_error: number | null };
  type LabelCounts = { supported: number; contradicted: number; not_found: number; unassessed: number };
  type LabelPower = { labels: number; questions: number; selected_on: number; reported_on: number; power: number; least_power: number; labels_needed: number | null };
  type Learned = { refused: Array<string>; schema_honoured: boolean | null; context_tokens: number | null };
  type LongEvidence = { judge: string; context_tokens: number | null; samples: number; windows: number };
  type Manifest = { format: number; job: string; claimeval: string; created: string | null; metrics: Array<string | Metric>; questions: Array<QuestionRecord>; judges: Array<Record<string, JsonValue>>; extractor: Record<string, JsonValue> | null; prompts: Array<PromptRecord>; panel: Record<string, any>; notes: Array<string>; settings: Record<string, JsonValue>; data: DataSource; source: RunSource | null; cluster: string | null; versions: Record<string, string> };
  type Metric = { name: string; claims_of: string; against: string; description: string; prompt: string | null };
  type MetricComparison = { metric: string; source: string; n: number; clusters: number; a: number | null; b: number | null; difference: Estimate; p: number | null; p_adjusted: number | null; increased: number; decreased: number; dropped: number; changed_samples: Array<SampleChange>; contribution: number | null; discordant: DiscordantCounts | null; because: Array<CausePart>; change: number | null };
  type MetricOverview = { metric: Metric; labels: LabelCounts; distribution: Array<number> };
  type MetricSummary = { mean: number | null; low: number | null; high: number | null; n: number; clusters: number; because: string | null; unit: string; missing: Record<string, number>; micro: number | null; bounds: [number, number] | null; ends: "interval" | "bounds" | "none"; sampling: [number, number] | null; total: number | null; judged: number | null; hits: number | null; unassessed: Record<string, number>; ungrounded: number; unasked: number; failure_rate: number; by_judge: Record<string, MetricSummary> };
  type Note = { kind: string; text: string };
  type Order = { measure: string; tau: number | null; human: Record<string, number | null>; assessor: Record<string, number | null>; queries: number };
  type OrderEffects = { orders: number; claims: number; flipped: number; lost: number; gained: number; rate: Estimate; places: Array<RankEffect> };
  type Overview = { name: string; manifest: Manifest; summary: Summary; cautions: Array<Note>; metrics: Array<MetricOverview>; derived: Record<string, string>; distributions: Record<string, Array<number>>; sides: Array<ScoresSummary>; judges: Array<JudgeOverview>; ranks: Array<RankOverview>; front: Front; extraction: ExtractionSummary | null; diagnosis: DiagnosisCounts | null; slices: Array<Slices>; judge_numbers: Array<JudgeNumbers> };
  type PairedRuns = { a: string; b: string; shared: number; clusters: number; cluster: string | null; only_a: number; only_b: number; changed_texts: number; changed_claims: number; settings: Array<string>; abstained: Array<string>; metrics: Array<MetricComparison>; by: Record<string, Array<MetricComparison>>; slices: Array<ChangeSlices>; compared: number; flipped: number; relabeled: number; labeled_once: number; flips: Array<Flip>; culprit: Culprit };
  type Panel = { vote: string; tie: string; quorum: number | null; weights: Record<string, number>; replicates: number; escalate: number | null; per_document: boolean | "cited"; shuffle_contexts: number; extract_per_judge: boolean; on_same_family: "warn" | "skip" | "no-vote" | "error"; families: Record<string, string>; scale: Scale };
  type PanelSummary = { judges: Array<string>; claims: number; labels: Array<string>; measured_on: Array<string>; unanimous: number; split: number; ties: number; no_quorum: number; alpha: number | null; ac1: number | null; judge_pairs: Array<RaterAgreement>; judge_vs_panel: Array<RaterAgreement>; noise: Record<string, ReplicateNoise>; disputes: Array<Dispute>; self_preference: Array<SelfPreference>; stopped_judges: Record<string, number> };
  type PeopleCorrelation = { rating: string; items: number; spearman: Estimate };
  type PromptRecord = { name: string; step: string; digest: string; source: string; parameters: Record<string, string>; id: string };
  type QuestionRecord = { name: string; prompt: string | null; scale: Scale; subjects: "claims" | "documents" | "answer"; panel: Record<string, any> };
  type RankEffect = { rank: number; labeled: number; supported: number; compared: number; flipped: number };
  type RankOverview = { rank: number; samples: number; cited: number; relevant: number | null };
  type RaterAgreement = { first: string; second: string; claims: number; raw_agreement: number | null; kappa: number | null; confusion: Array<Array<number>>; disputed_only: boolean };
  type RaterPair = { first: string; second: string; items: number; raw: Estimate; kappa: Estimate };
  type RaterReport = { rater: string; compared: number; unassessed: number; accuracy: Estimate; balanced_accuracy: Estimate; precision: Estimate; recall: Estimate; specificity: Estimate; f1: Estimate; kappa: Estimate; auroc: Estimate | null; same: Estimate; kappa_of_labels: Estimate; weighted_kappa: Estimate | null; labels: Array<string>; confusion: Array<Array<number>>; calibration: CalibrationReport | null; alt_test: Estimate | null; advantage: Estimate | null; labels_needed: number | null };
  type RaterSlice = { value: string; rater: string; compared: number; same: Estimate; kappa: Estimate; labels: Array<string>; confusion: Array<Array<number>> };
  type RatingAgreement = { items: number; unmatched: number; pairs: boolean; correlations: Array<RatingCorrelation>; people: Array<PeopleCorrelation> };
  type RatingCorrelation = { score: string; rating: string; items: number; spearman: Estimate; pearson: Estimate; agreeing: Estimate | null };
  type Ratio = { value: number | null; low: number | null; high: number | null; n: number; clusters: number; because: string | null; ends: "interval" | "bounds" | "none"; sampling: [number, number] | null; hits: number; total: number };
  type Refused = { query: string; document: string; grade: number };
  type ReplicateNoise = { claims: number; inconsistent: number; variance_share: number | null; score_variance_share: Record<string, number | null> };
  type RunCost = { total: Cost; by: Array<StepCost>; skipped: number };
  type RunSource = { path: string | null; digest: string | null; asked_with: Record<string, Array<string>> };
  type SameFamily = { role: "judge" | "extractor" | "reference_author"; name: string; family: string; samples: number };
  type SampleChange = { sample: string; before: number; after: number };
  type SampleRow = [string, string, number, number, Array<ScoreCell>, "fine" | "ignored" | "missed" | "made_up" | null];
  type Scale = { name: string; words: Array<string>; replies: Array<string>; meanings: Array<string>; values: Array<number>; ordered: boolean; positive_from: number; divided: boolean };
  type ScoreCell = [number | null, string, string | null, number | null, number | null, Array<string>, Array<number>, number];
  type ScoresSummary = { kind: string; settings: Record<string, string>; metrics: Record<string, MetricSummary>; cluster: string | null };
  type Selection = { arm: string; selected_on: Record<string, LabelAgreement>; held_out: RaterReport; held_out_baseline: RaterReport; gain: Estimate; p: number | null; kappa: Estimate; beyond_noise: boolean; unmatched: number; power: LabelPower; written: string | null };
  type SelfPreference = { value: number | null; low: number | null; high: number | null; n: number; clusters: number; because: string | null; ends: "interval" | "bounds" | "none"; sampling: [number, number] | null; metric: string; family: string };
  type Slice = { value: string | null; metric: string; samples: number; estimate: Estimate; contribution: number | null };
  type Slices = { field: string; rows: Array<Slice> };
  type StepCost = { judge: string; step: string; cost: Cost };
  type Summary = { format: number; job: string; complete: boolean; samples: number; clusters: number; metrics: Record<string, MetricSummary>; notes: Array<string>; panel: PanelSummary | null; same_family: Array<SameFamily>; by: Record<string, Record<string, Record<string, Estimate>>>; cost: RunCost | null; failures: Record<string, FailureExample>; stopped: string | null; unclear: number; long: Array<LongEvidence>; order_effects: OrderEffects | null; extraction: ExtractionSummary | null };
  type WorstClaim = { sample_id: string; question: string; subject: string; claim: string; evidence: Evidence; label: string; explanation: string | null; excerpt: string | null; is_word_for_word: boolean; documents: number; metric: string | null; score: number | null; supported: number; judged: number; votes: Record<string, number> };
}

declare namespace Line {
  type Assessment = { subject: string; question: string; against: string; document?: number | null; order?: number | null; label?: string | null; positive?: boolean | null; unassessed?: string | null; tied?: boolean; verdicts: Array<Verdict>; agreement?: number | null; probability?: number | null; entropy?: number | null };
  type Call = { key: string; step: string; judge: string; part: string; evidence?: Evidence | null; window?: number | null; subjects?: Array<string>; prompt?: string | null; attempt?: number; replicate?: number; reused?: boolean; reply?: string | null; failed?: string | null; message?: string | null; served_model?: string | null; prompt_tokens?: number | null; completion_tokens?: number | null; cached_tokens?: number | null; cache_write_tokens?: number | null; seconds?: number | null };
  type Claim = { id: string; of: string; text: string; sentences?: Array<number>; span?: [number, number] | null; grounding: "exact" | "fuzzy" | "ids_only" | "ungrounded" | "given"; extractor?: string | null; alternative?: number | null; repeats?: number; missing_numbers?: Array<string> };
  type Document = { id: string; text: string; title?: string | null; score?: number | null };
  type Evidence = { part: string; document?: number | null; order?: number | null };
  type GivenClaim = { text: string; importance?: "vital" | "okay" | null; assignment?: "support" | "partial_support" | "not_support" | null };
  type JsonValue = any;
  type Sample = { id: string; question: string; history?: Array<Turn>; answer?: string | null; contexts?: Array<Document> | null; sources?: Array<string>; reference_answers?: Array<string>; references?: "any" | "together" | null; reference_claims?: Array<GivenClaim>; reference_contexts?: Array<string>; reference_context_ids?: Array<string>; is_answerable?: boolean | null; generator?: string | null; reference_author?: string | null; evidence?: Record<string, Array<Document>>; metadata?: Record<string, JsonValue> };
  type SampleResult = { sample: Sample; scores?: Record<string, Score>; claims: Array<Claim>; assessments: Array<Assessment>; unextracted?: Record<string, string>; details?: Record<string, JsonValue>; calls?: Array<Call> };
  type Score = { value: number | null; unit: string; hits?: number | null; judged?: number | null; total?: number | null; bounds?: [number, number] | null; because?: string | null; alternative?: number | null };
  type Turn = { role: string; content: string };
  type Verdict = { judge: string; label?: string | null; positive?: boolean | null; unassessed?: string | null; probability?: number | null; explanation?: string | null; cites?: Array<string>; replicate?: number; windows?: number | null; call?: number | null; prompt?: string | null };
}
