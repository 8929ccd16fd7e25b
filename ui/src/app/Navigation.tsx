import List from "@mui/material/List";
import ListItem from "@mui/material/ListItem";
import ListItemButton from "@mui/material/ListItemButton";
import ListItemIcon from "@mui/material/ListItemIcon";
import ListItemText from "@mui/material/ListItemText";
import { NavLink, useLocation } from "react-router";
import { PAGE_ICONS } from "./icons";
import { PAGES, type PageEntry } from "./pages";

export function Navigation({ onGo }: { onGo?: () => void }) {
  const { pathname } = useLocation();
  return (
    <List component="nav" aria-label="Pages" dense sx={{ px: 1 }}>
      {PAGES.map((page) => (
        <Entry key={page.path} page={page} isHere={isAt(page.path, pathname)} onGo={onGo} />
      ))}
    </List>
  );
}

function Entry({ page, isHere, onGo }: { page: PageEntry; isHere: boolean; onGo?: () => void }) {
  const Icon = PAGE_ICONS[page.icon];
  return (
    <ListItem component="div" disablePadding>
      <ListItemButton
        component={NavLink}
        to={page.path}
        end
        selected={isHere}
        onClick={onGo}
        sx={{ borderRadius: 1 }}
      >
        <ListItemIcon sx={{ minWidth: 34 }}>
          {Icon && <Icon fontSize="small" color={isHere ? "primary" : "inherit"} />}
        </ListItemIcon>
        <ListItemText
          primary={page.label}
          slotProps={{ primary: { sx: { fontWeight: isHere ? 650 : 500 } } }}
        />
      </ListItemButton>
    </ListItem>
  );
}

const isAt = (path: string, here: string): boolean =>
  path === "/" ? here === "/" : here === path || here.startsWith(`${path}/`);
