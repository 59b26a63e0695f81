package import CRDTCore
internal import Engine

/// Another machine, as a sentence, made of the JSON that the API shows of it.
package enum PeerReport {
    ///
    /// `someWait`: whether changes that are stored are not in force here yet.
    package static func sentence(_ peer: JSON, someWait: Bool) -> String {
        "\(peer["name"]?.text ?? "?"): \(self.exchange(peer, someWait: someWait))"
    }

    /// How far the exchange with a connected machine is.
    package static func exchange(_ peer: JSON, someWait: Bool) -> String {
        if peer["in_sync"]?.isTrue ?? false {
            if let until = peer["holds_until_ms"]?.integer {
                return """
                    has the same changes; values differ, because those that its clock has not reached are held there \
                    until \(PlainText.time(milliseconds: UInt64(clamping: until)))
                    """
            }
            return someWait ? "has the same changes; values may differ while some wait" : "in sync"
        }
        guard let there = peer["missing_there"]?.integer, let here = peer["missing_here"]?.integer else {
            return "comparing"
        }
        return "lacks \(PlainText.count(there, "change")); \(PlainText.count(here, "change")) to come from it"
    }
}

/// A machine of which there are several, as sentences.
package enum CopyReport {
    package static func sentence(_ peer: JSON) -> String {
        "more than one machine runs as \(peer["name"]?.text ?? "?"), or did within ten minutes: \(self.reason)"
    }

    private static let reason = "one was copied or restored from the other; what both write counts"
    /// What it wrote may be nowhere else until it has synced.
    package static let advice =
        "to tell them apart, run \"peerd sync\" on one of them, then stop it, empty its data directory, and let it "
        + "join with an invite of its own; what no other machine has, such as snapshots of objects and the folder "
        + "\"files\", is to be saved before"
}

/// An address that was named and leads to no machine, as a sentence.
package enum AddressReport {
    package static func sentence(_ address: JSON) -> String {
        "\(address["address"]?.text ?? "?") \(address["failure"]?.text ?? "")."
    }
}

/// What is known of clocks, as sentences.
package enum ClockReport {
    /// One for each clock that may be wrong; `status`: as the API shows it.
    package static func findings(_ status: JSON) -> [String] {
        var findings: [String] = []
        if let former = status["clock"]?["set_back_from_ms"]?.integer {
            findings.append(self.setBack(from: UInt64(clamping: former)))
        }
        for peer in status["peers"]?.elements ?? [] {
            guard let ahead = peer["clock_ahead_ms"]?.integer, ahead.isNoticeableClockDifference else { continue }
            let difference = self.difference(ahead, of: peer["name"]?.text ?? "?")
            let isConfirmed = status["clock"]?["confirmed"]?.isTrue ?? false
            findings.append(
                isConfirmed ? "\(difference) The clock of another machine agrees with this one." : difference
            )
        }
        return findings
    }

    package static func setBack(from milliseconds: UInt64) -> String {
        """
        The clock of this machine has shown \(PlainText.time(milliseconds: milliseconds)), and shows an earlier \
        time now. Correct it. If it is right, another machine's clock will confirm it, or run \
        "peerd restamp --clock-is-right".
        """
    }

    package static func difference(_ millisecondsAhead: Int64, of name: String) -> String {
        let direction = millisecondsAhead > 0 ? "ahead of" : "behind"
        return """
            The clock of \(name) is \(millisecondsAhead.magnitude / 1000) seconds \(direction) the one of this machine.
            """
    }
}

/// Changes that are stored and not in force yet, as a sentence.
package enum WaitReport {
    package static func sentence(_ wait: JSON) -> String {
        let what = "\(PlainText.count(wait["changes"]?.integer ?? 0, "change")) of \(wait["device_name"]?.text ?? "?")"
        if let until = wait["until_ms"]?.integer {
            return """
                \(what), stamped in the future, until \(PlainText.time(milliseconds: UInt64(clamping: until))); \
                "peerd restamp" orders them by what they had seen
                """
        }
        let (sequence, replica) = (wait["missing_sequence"]?.integer ?? 0, wait["missing_replica"]?.text ?? "?")
        return "\(what), which need change \(sequence) of replica \(replica)"
    }
}

/// A chain with several branches, as a sentence.
package enum ForkReport {
    package static func sentence(_ fork: JSON) -> String {
        """
        \(fork["device_name"]?.text ?? "?"): its database was restored or copied, and its chain has \
        \(fork["branches"]?.integer ?? 0) branches; the changes of all count
        """
    }
}
