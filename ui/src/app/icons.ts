/** The icon of each page. */
import AccountTree from "@mui/icons-material/AccountTreeOutlined";
import Dns from "@mui/icons-material/DnsOutlined";
import Key from "@mui/icons-material/KeyOutlined";
import ModelTraining from "@mui/icons-material/ViewInArOutlined";
import Monitor from "@mui/icons-material/MonitorHeartOutlined";
import Science from "@mui/icons-material/ScienceOutlined";
import Settings from "@mui/icons-material/TuneOutlined";
import Storage from "@mui/icons-material/StorageOutlined";
import Subject from "@mui/icons-material/SubjectOutlined";
import Voicemail from "@mui/icons-material/FiberSmartRecordOutlined";
import type { SvgIconComponent } from "@mui/icons-material";

export const PAGE_ICONS: Record<string, SvgIconComponent> = {
  overview: Monitor,
  configs: AccountTree,
  playground: Science,
  recordings: Voicemail,
  models: ModelTraining,
  workers: Dns,
  features: Storage,
  logs: Subject,
  keys: Key,
  settings: Settings,
};
