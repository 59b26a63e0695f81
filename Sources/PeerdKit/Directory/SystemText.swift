internal import Foundation

/// The operating system's words.
package enum SystemText {
    package static func ofErrno(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }

    /// The name of this machine, up to the first dot.
    package static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "unnamed" }
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let first = name.split(separator: ".").first.map(String.init) ?? ""
        return first.isEmpty ? "unnamed" : first
    }
}
