import Alert from "@mui/material/Alert";
import Snackbar from "@mui/material/Snackbar";
import { createContext, useCallback, useContext, useState, type ReactNode } from "react";

type Notice = { text: string; severity: "success" | "error" | "info" };
type Say = (text: string, severity?: Notice["severity"]) => void;

const NoticeContext = createContext<Say>(() => undefined);

/** Short confirmations at the foot of the page: what was done, never the only place a failure is told. */
export function NoticeProvider({ children }: { children: ReactNode }) {
  const [notice, setNotice] = useState<Notice | null>(null);
  const say = useCallback<Say>((text, severity = "success") => setNotice({ text, severity }), []);
  const close = (): void => setNotice(null);
  return (
    <NoticeContext.Provider value={say}>
      {children}
      <Snackbar open={notice !== null} autoHideDuration={6000} onClose={close}>
        {notice ? (
          <Alert severity={notice.severity} variant="filled" onClose={close}>
            {notice.text}
          </Alert>
        ) : undefined}
      </Snackbar>
    </NoticeContext.Provider>
  );
}

export const useNotice = (): Say => useContext(NoticeContext);
