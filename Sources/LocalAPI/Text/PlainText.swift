package import CRDTCore
internal import Foundation

/// Values, times and amounts as people read them.
package enum PlainText {
    /// A value as people read it: a string as it is, anything else as JSON.
    package static func of(_ value: Value) -> String {
        if case .string(let text) = value { return text }
        return value.json.canonicalText
    }

    /// A moment in the UTC calendar.
    package static func time(milliseconds: UInt64) -> String {
        guard milliseconds > 0 else { return "never" }
        let date = Date(timeIntervalSince1970: Double(min(milliseconds, 253_402_300_799_000)) / 1000)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: false))
    }

    package static func bytes(_ count: UInt64) -> String {
        switch count {
        case ..<10_000: "\(count) bytes"
        case ..<10_000_000: "\(count / 1000) kB"
        default: "\(count / 1_000_000) MB"
        }
    }

    package static func count(_ count: some BinaryInteger, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
}
