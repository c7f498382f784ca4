// The page that is forwarded is drawn without a script; this module only switches its colours.

import { themes } from "./theme.js";

themes();
performance.mark("drawn");
