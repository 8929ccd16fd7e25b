import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { configQueries } from "../../../../api/configs";
import { DiffLines } from "../../../../components/DiffLines";
import { PageState } from "../../../../components/PageState";

/** How one version became another. */
export function Compare({ id, from, to }: { id: string; from: number; to: number }) {
  const difference = useQuery({ ...configQueries.difference(id, from, to), enabled: from !== to });
  if (from === to)
    return <Typography color="textSecondary">Choose two versions to see how they differ.</Typography>;
  const label = `From version ${from} to version ${to}`;
  return (
    <section aria-label={label}>
      <Typography variant="h2" gutterBottom>
        {label}
      </Typography>
      <PageState query={difference}>{({ lines }) => <DiffLines lines={lines} label={label} />}</PageState>
    </section>
  );
}
