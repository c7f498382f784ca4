// The page of several runs is drawn without a script; this is for its colours.

import { themes } from "./theme.js";

themes();
