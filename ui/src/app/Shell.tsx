import MenuIcon from "@mui/icons-material/Menu";
import AppBar from "@mui/material/AppBar";
import Box from "@mui/material/Box";
import Drawer from "@mui/material/Drawer";
import IconButton from "@mui/material/IconButton";
import Toolbar from "@mui/material/Toolbar";
import { useState } from "react";
import { Outlet, ScrollRestoration } from "react-router";
import { Brand } from "./Brand";
import { LinkState } from "./LinkState";
import { ModeSwitch } from "./ModeSwitch";
import { Navigation } from "./Navigation";
import { SignIn } from "./SignIn";
import { SkipLink } from "./SkipLink";

const WIDTH = 208;
const BAR = 48;

/** The frame around every page: navigation at the left, in a drawer on narrow screens. */
export function Shell() {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <Box sx={{ display: "flex", minHeight: "100%" }}>
      <SkipLink />
      <AppBar
        position="fixed"
        color="inherit"
        elevation={0}
        sx={{ borderBottom: 1, borderColor: "divider", zIndex: (theme) => theme.zIndex.drawer + 1 }}
      >
        <Toolbar variant="dense" sx={{ minHeight: BAR, gap: 1 }}>
          <IconButton
            edge="start"
            aria-label="Open the navigation"
            onClick={() => setOpen(true)}
            sx={{ display: { md: "none" } }}
          >
            <MenuIcon />
          </IconButton>
          <Brand />
          <Box sx={{ flexGrow: 1 }} />
          <LinkState />
          <ModeSwitch />
        </Toolbar>
      </AppBar>
      <Drawer
        variant="temporary"
        open={isOpen}
        onClose={close}
        sx={{ display: { md: "none" }, "& .MuiDrawer-paper": { width: WIDTH + 40, pt: `${BAR + 8}px` } }}
      >
        <Navigation onGo={close} />
      </Drawer>
      <Drawer
        variant="permanent"
        sx={{
          display: { xs: "none", md: "block" },
          width: WIDTH,
          flexShrink: 0,
          "& .MuiDrawer-paper": { width: WIDTH, pt: `${BAR + 8}px` },
        }}
      >
        <Navigation />
      </Drawer>
      <Box
        component="main"
        id="content"
        tabIndex={-1}
        sx={{ flexGrow: 1, minWidth: 0, pt: `${BAR}px`, outline: "none" }}
      >
        <Outlet />
      </Box>
      <SignIn />
      <ScrollRestoration />
    </Box>
  );
}
