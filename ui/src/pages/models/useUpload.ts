/** An upload that can be watched and cancelled. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { uploadVersion, type UploadOrder } from "./upload";

export function useUpload() {
  const cache = useQueryClient();
  const [sent, setSent] = useState(0);
  const cancelling = useRef<AbortController>(null);
  const upload = useMutation({
    mutationFn: (order: UploadOrder) => {
      setSent(0);
      cancelling.current = new AbortController();
      return uploadVersion(order, setSent, cancelling.current.signal);
    },
    onSuccess: () => cache.invalidateQueries({ queryKey: ["models"] }),
  });
  return { ...upload, sent, cancel: () => cancelling.current?.abort() };
}
