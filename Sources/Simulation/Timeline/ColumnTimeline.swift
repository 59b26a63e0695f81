/// A trace as text: one line an entry, one column a machine.
package enum ColumnTimeline {
    private static let timeWidth = 12
    private static let columnWidthMax = 44
    private static let columnWidthMin = 16
    private static let lineWidth = 150

    package static func text(of trace: Trace) -> String {
        let room = (self.lineWidth - self.timeWidth) / max(1, trace.machineCount)
        let width = min(max(room, self.columnWidthMin), self.columnWidthMax)
        let heads = (0..<trace.machineCount).map { self.padded("peer\($0)", width) }
        var lines = [self.padded("seconds", self.timeWidth) + heads.joined()]
        for entry in trace.entries {
            let time = self.padded(self.seconds(entry.time), self.timeWidth)
            guard let machine = entry.machine else {
                lines.append(time + "----- \(entry.kind.text) -----")
                continue
            }
            let isLast = machine == trace.machineCount - 1
            let text = isLast ? entry.kind.text : self.cut(entry.kind.text, width - 1)
            lines.append(time + String(repeating: " ", count: machine * width) + text)
        }
        if trace.isFull { lines.append("... and more than can be kept") }
        return lines.joined(separator: "\n")
    }

    package static func seconds(_ time: VirtualTime) -> String {
        let fraction = String(time.microseconds % 1_000_000)
        return "\(time.microseconds / 1_000_000)." + String(repeating: "0", count: 6 - fraction.count) + fraction
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func cut(_ text: String, _ width: Int) -> String {
        text.count <= width ? text : text.prefix(width - 1) + "…"
    }
}
