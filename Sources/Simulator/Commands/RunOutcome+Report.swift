internal import CRDTCore
internal import Simulation

extension RunOutcome {
    /// What the run showed, for people.
    var lines: [String] {
        var lines = ["hash \(self.hash), \(self.eventCount) events, \(self.simulated.word) simulated"]
        let faults = Fault.allCases.compactMap { fault in self.record.faultCounts[fault].map { "\(fault) \($0)" } }
        if !faults.isEmpty { lines.append("faults \(faults.joined(separator: ", "))") }
        let marks = Mark.allCases.filter { self.record.marks.contains($0) }.map(\.rawValue)
        lines.append("marks \(marks.joined(separator: " "))")
        return lines + self.record.findings.map { "FOUND \($0)" }
    }

    /// What a program is told of every run.
    var members: [ExactText: JSON] {
        var faults: [ExactText: JSON] = [:]
        for (fault, count) in self.record.faultCounts { faults[ExactText(fault.rawValue)] = .int(Int64(count)) }
        let marks = Mark.allCases.filter { self.record.marks.contains($0) }
        return [
            "event_hash": .string(self.hash),
            "events": .int(Int64(self.eventCount)),
            "simulated_milliseconds": .int(Int64(self.simulated.milliseconds)),
            "faults": .object(faults),
            "marks": .array(marks.map { .string($0.rawValue) }),
            "findings": .array(self.record.findings.map { $0.json }),
        ]
    }
}

extension Finding {
    var json: JSON { .object(["property": .string(self.property.rawValue), "message": .string(self.message)]) }
}

extension JSON {
    /// As one line of text.
    var text: String {
        var bytes: [UInt8] = []
        self.append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
