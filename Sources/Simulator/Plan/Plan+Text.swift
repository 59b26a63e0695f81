/// A plan for people to read, one line a fact.
extension Plan {
    var lines: [String] {
        var lines = [
            "\(self.peerCount) peers, \(self.topology.rawValue), \(self.links.rawValue), \(self.duration.seconds) s, "
                + "core \(self.core), checkpoint at \(self.checkpointPageCount) pages"
        ]
        let faults = Fault.allCases.filter { self.faults.contains($0) }.map(\.rawValue)
        lines.append("faults on: \(faults.joined(separator: " "))")
        for timed in self.actions {
            lines.append("\(timed.time.seconds)  \(timed.action)".replacing("Simulator.", with: ""))
        }
        return lines
    }
}
