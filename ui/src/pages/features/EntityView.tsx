import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { Entity } from "./api";
import { GroupTable } from "./GroupTable";
import { Lookup } from "./Lookup";

/** One entity: the values of its keys, and the features it has. */
export function EntityView({ entity }: { entity: Entity }) {
  return (
    <Box
      sx={{
        display: "grid",
        gap: 3,
        gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) minmax(0, 1fr)" },
      }}
    >
      <Stack spacing={2}>
        <Typography variant="h2">Look up</Typography>
        <Lookup entity={entity} />
      </Stack>
      <Stack spacing={2}>
        <Typography variant="h2">Schema</Typography>
        {entity.groups.map((group) => (
          <GroupTable key={group.name} group={group} />
        ))}
      </Stack>
    </Box>
  );
}
