import Button from "@mui/material/Button";
import { Link } from "react-router";
import { EmptyFace } from "../components/faces";

export function NotFound() {
  return (
    <EmptyFace title="There is no such page" text="The address may be mistyped, or the page has moved.">
      <Button component={Link} to="/" variant="contained">
        To the overview
      </Button>
    </EmptyFace>
  );
}
