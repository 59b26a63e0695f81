package import CRDTCore
internal import Foundation
internal import PeerdKit

/// Values, times and amounts as people read them.
package enum PlainText {
    /// A value as people read it: a string as it is, anything else as JSON.
    package static func of(_ value: Value) -> String {
        if case .string(let text) = value { return text }
        return value.json.canonicalText
    }

    /// A moment in the UTC calendar.
    package static func time(_ milliseconds: some BinaryInteger) -> String {
        guard milliseconds > 0 else { return "never" }
        let date = Date(milliseconds: min(UInt64(clamping: milliseconds), 253_402_300_799_000))
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: false))
    }

    package static func bytes(_ count: some BinaryInteger) -> String {
        switch count {
        case ..<10_000: "\(count) bytes"
        case ..<10_000_000: "\(count / 1000) kB"
        default: "\(count / 1_000_000) MB"
        }
    }

    /// A place below a parent; null is the root.
    package static func parent(_ id: JSON?) -> String { "under \(id?.text ?? "the root")" }

    /// The first of some names, and how many there are besides.
    package static func list(_ names: [String], upTo limit: Int = 5) -> String {
        let more = names.count - limit
        return names.prefix(limit).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }

    package static func count(_ count: some BinaryInteger, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
}
