/** Calm and dense: one accent, small type, thin borders instead of shadows; light, dark, or as the system says. */
import { createTheme } from "@mui/material/styles";

export const MONO = 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace';

export const theme = createTheme({
  cssVariables: { colorSchemeSelector: "data-scheme" },
  colorSchemes: {
    light: {
      palette: {
        primary: { main: "#0f5c6e" },
        secondary: { main: "#6b4fa0" },
        success: { main: "#1f7a3d" },
        warning: { main: "#9a5b00" },
        error: { main: "#b3261e" },
        info: { main: "#2563a8" },
        text: { primary: "#16242b", secondary: "#4b5a63" },
        background: { default: "#f5f7f8", paper: "#ffffff" },
        divider: "#dbe2e6",
      },
    },
    dark: {
      palette: {
        primary: { main: "#6cc5d9" },
        secondary: { main: "#c3aef0" },
        success: { main: "#6fd08c" },
        warning: { main: "#f0b429" },
        error: { main: "#ff8a80" },
        info: { main: "#8ab8f5" },
        text: { primary: "#e6edf0", secondary: "#a5b4bc" },
        background: { default: "#11181c", paper: "#182126" },
        divider: "#2c383f",
      },
    },
  },
  shape: { borderRadius: 8 },
  typography: {
    fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
    fontSize: 13,
    h1: { fontSize: "1.375rem", fontWeight: 650, letterSpacing: "-0.01em" },
    h2: { fontSize: "1rem", fontWeight: 650 },
    h3: { fontSize: "0.875rem", fontWeight: 650, lineHeight: 1.4 },
    button: { textTransform: "none", fontWeight: 600 },
  },
  components: {
    MuiPaper: { defaultProps: { elevation: 0 }, styleOverrides: { root: { backgroundImage: "none" } } },
    MuiCard: { defaultProps: { variant: "outlined" } },
    MuiButton: { defaultProps: { size: "small", disableElevation: true } },
    MuiTextField: { defaultProps: { size: "small" } },
    MuiChip: { defaultProps: { size: "small" } },
    MuiTable: { defaultProps: { size: "small" } },
    MuiTableCell: {
      styleOverrides: { root: { padding: "5px 12px" }, head: { fontWeight: 600, whiteSpace: "nowrap" } },
    },
    MuiTab: { styleOverrides: { root: { minHeight: 40, textTransform: "none", fontWeight: 600 } } },
    MuiTabs: { styleOverrides: { root: { minHeight: 40 } } },
    // Its own grey is too faint on the page's background.
    MuiToggleButton: { styleOverrides: { root: { color: "var(--mui-palette-text-secondary)" } } },
    MuiTooltip: { defaultProps: { arrow: true } },
  },
});
