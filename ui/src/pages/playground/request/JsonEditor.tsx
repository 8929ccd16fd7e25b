import { CodeEditor } from "../../../components/CodeEditor";

export default function JsonEditor({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <CodeEditor label="Request as JSON" language="json" value={text} onChange={onChange} height="360px" />
  );
}
