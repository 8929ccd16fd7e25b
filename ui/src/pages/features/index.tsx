import Stack from "@mui/material/Stack";
import Tab from "@mui/material/Tab";
import Tabs from "@mui/material/Tabs";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { EmptyFace } from "../../components/faces";
import { Page } from "../../components/Page";
import { PageState } from "../../components/PageState";
import { StatusChip } from "../../components/StatusChip";
import { schemaQuery, type Entity } from "./api";
import { EntityView } from "./EntityView";

/** What the feature store knows: its entities and groups, and the values of keys. */
export default function FeaturesPage() {
  const query = useQuery(schemaQuery);
  return (
    <Page title="Features" beside={query.data && <StatusChip tone="quiet" label={query.data.backend} />}>
      <PageState
        query={query}
        isEmpty={({ entities }) => entities.length === 0}
        empty={
          <EmptyFace
            title="The feature store has no entities"
            text="Describe them in features/schema.yaml of the project, then look at what was understood:"
            command="inferflow features schema"
          />
        }
      >
        {({ entities }) => <Entities entities={entities} />}
      </PageState>
    </Page>
  );
}

function Entities({ entities }: { entities: Entity[] }) {
  const [search, setSearch] = useSearchParams();
  const entity = entities.find(({ name }) => name === search.get("entity")) ?? entities[0]!;
  return (
    <Stack spacing={2}>
      <Tabs
        value={entity.name}
        onChange={(_, name: string) => setSearch({ entity: name }, { replace: true })}
        variant="scrollable"
        allowScrollButtonsMobile
        aria-label="Entities"
      >
        {entities.map(({ name }) => (
          <Tab key={name} value={name} label={name} />
        ))}
      </Tabs>
      <EntityView key={entity.name} entity={entity} />
    </Stack>
  );
}
