import Button from "@mui/material/Button";
import { Link } from "react-router";
import { EmptyFace } from "../components/faces";
import { Page } from "../components/Page";

export function NotFound() {
  return (
    <Page title="Not found">
      <EmptyFace title="There is no such page" text="The address may be mistyped, or the page has moved.">
        <Button component={Link} to="/" variant="contained">
          To the overview
        </Button>
      </EmptyFace>
    </Page>
  );
}
