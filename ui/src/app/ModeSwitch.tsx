import AutoIcon from "@mui/icons-material/BrightnessAutoOutlined";
import DarkIcon from "@mui/icons-material/DarkModeOutlined";
import LightIcon from "@mui/icons-material/LightModeOutlined";
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import { useColorScheme } from "@mui/material/styles";

const NEXT = { system: "light", light: "dark", dark: "system" } as const;
const ICON = { system: AutoIcon, light: LightIcon, dark: DarkIcon };
const NAME = { system: "as the system", light: "light", dark: "dark" };

/** Light, dark, or as the system says; one button goes round. */
export function ModeSwitch() {
  const { mode = "system", setMode } = useColorScheme();
  const now = mode ?? "system";
  const Icon = ICON[now];
  const label = `Colours: ${NAME[now]}. Change to ${NAME[NEXT[now]]}`;
  return (
    <Tooltip title={label}>
      <IconButton aria-label={label} onClick={() => setMode(NEXT[now])}>
        <Icon fontSize="small" />
      </IconButton>
    </Tooltip>
  );
}
