import ErrorIcon from "@mui/icons-material/ErrorOutlined";
import InfoIcon from "@mui/icons-material/InfoOutlined";
import ButtonBase from "@mui/material/ButtonBase";
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import type { Finding } from "../api/problem";

type Props = { problems: Finding[]; onPick?: (problem: Finding) => void };

/** What is wrong in a config: place, reason, what might be meant. */
export function ProblemList({ problems, onPick }: Props) {
  return (
    <Box component="ul" aria-label="Problems" sx={{ listStyle: "none", m: 0, p: 0 }}>
      {problems.map((problem, at) => (
        <li key={`${problem.where}:${at}`}>
          {onPick && problem.line ? (
            <ButtonBase
              onClick={() => onPick(problem)}
              sx={{ width: "100%", justifyContent: "start", textAlign: "start" }}
            >
              <ProblemLine problem={problem} />
            </ButtonBase>
          ) : (
            <ProblemLine problem={problem} />
          )}
        </li>
      ))}
    </Box>
  );
}

function ProblemLine({ problem }: { problem: Finding }) {
  const isError = problem.severity === "error";
  const Icon = isError ? ErrorIcon : InfoIcon;
  return (
    <Box sx={{ display: "flex", gap: 1, py: 0.75 }}>
      <Icon color={isError ? "error" : "info"} fontSize="small" titleAccess={isError ? "Error" : "Note"} />
      <Box sx={{ minWidth: 0 }}>
        <Typography variant="body2">{problem.what}</Typography>
        {problem.hint && (
          <Typography variant="body2" color="textSecondary">
            {problem.hint}
          </Typography>
        )}
        <Typography
          variant="caption"
          color="textSecondary"
          className="mono"
          sx={{ overflowWrap: "anywhere" }}
        >
          {problem.where}
          {problem.line ? ` · line ${problem.line}${problem.column ? `, column ${problem.column}` : ""}` : ""}
        </Typography>
      </Box>
    </Box>
  );
}
