internal import CRDTCore
package import NIOHTTP1

/// The ways in which a request reached the server.
package enum EntryPoint: Hashable, Sendable {
    /// The Unix socket of the data directory, which only its owner can use.
    case socket
    /// Loopback TCP, which every program and page of this machine can use.
    case loopback
    /// A call within the process.
    case process
}

/// A request without its body.
package struct RequestHead: Sendable {
    package var method: HTTPMethod
    /// The components of the path, decoded.
    package var path: [String]
    package var query: QueryParameters
    package var headers: HTTPHeaders
    package var entryPoint: EntryPoint

    /// Reads the target of a request.
    ///
    /// - Throws: ``Problem`` if it is not the form of RFC 9112 §3.2.1 (a path, and perhaps a query).
    package init(method: HTTPMethod, target: String, headers: HTTPHeaders, entryPoint: EntryPoint) throws(Problem) {
        guard target.utf8.first == UInt8(ascii: "/"), target.utf8.count <= Self.targetByteCountMax else {
            throw .badRequest(
                "The target of the request is not a path, or longer than \(Self.targetByteCountMax) bytes."
            )
        }
        let (path, query) = target.divided(at: "?")
        self.method = method
        self.path = []
        let slash = UInt8(ascii: "/")
        for component in path.utf8.dropFirst().split(separator: slash, omittingEmptySubsequences: false) {
            guard let text = PercentCoding.decoded(Substring(component)) else {
                throw .badRequest("The path is not UTF-8 in percent-encoding.")
            }
            self.path.append(text)
        }
        self.query = try query.map { text throws(Problem) in try QueryParameters(text) } ?? QueryParameters()
        self.headers = headers
        self.entryPoint = entryPoint
    }

    private static let targetByteCountMax = 16 << 10
}

/// The parameters behind the question mark.
package struct QueryParameters: Hashable, Sendable {
    private var values: [String: [String]] = [:]

    private static let countMax = 64

    init() {}

    init(_ text: Substring) throws(Problem) {
        if text.isEmpty { return }
        let parts = text.utf8.split(separator: UInt8(ascii: "&"))
        guard parts.count <= Self.countMax else {
            throw .badRequest("There are more than \(Self.countMax) parameters.")
        }
        for part in parts {
            let (name, value) = Substring(part).divided(at: "=")
            guard let name = PercentCoding.decoded(name, plusIsSpace: true),
                let value = PercentCoding.decoded(value ?? "", plusIsSpace: true)
            else { throw .badRequest("The query is not UTF-8 in percent-encoding.") }
            self.values[name, default: []].append(value)
        }
    }

    var isEmpty: Bool { self.values.isEmpty }

    var names: Set<String> { Set(self.values.keys) }

    /// All values of a parameter, in order.
    package func all(_ name: String) -> [String] { self.values[name] ?? [] }

    /// The value of a parameter that may be there once; nil if it is missing.
    package func one(_ name: String) throws(Problem) -> String? {
        let values = self.values[name] ?? []
        guard values.count <= 1 else { throw .badRequest("The parameter \(name) is there more than once.") }
        return values.first
    }

    /// Whether a parameter is `true`; false if it is missing.
    func flag(_ name: String) throws(Problem) -> Bool {
        switch try self.one(name) {
        case "true": return true
        case "false", nil: return false
        default: throw .badRequest("The parameter \(name) must be true or false.")
        }
    }

    /// A number within a range; nil if the parameter is missing.
    package func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = try self.one(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .badRequest("The parameter \(name) must be from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// How many elements a page is to have at most.
    var limit: Int {
        get throws(Problem) { try self.number("limit", in: 1...APILimits.pageCountMax) ?? APILimits.pageCount }
    }

    /// The place behind which a page begins; nil for the first page.
    ///
    /// `list`: what the place is in, for error messages.
    func after<Place>(in list: String, _ place: (String) -> Place?) throws(Problem) -> Place? {
        guard let text = try self.one("after") else { return nil }
        guard let place = place(text) else { throw .badRequest("“after” is not a cursor of \(list).") }
        return place
    }
}

/// Percent-encoding of RFC 3986 §2.1.
enum PercentCoding {
    /// Decodes text; nil if an escape is cut short or the result is not UTF-8.
    static func decoded(_ text: Substring, plusIsSpace: Bool = false) -> String? {
        let hasEscape = text.utf8.contains { $0 == UInt8(ascii: "%") || plusIsSpace && $0 == UInt8(ascii: "+") }
        guard hasEscape else { return String(text) }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                    let low = rest.popFirst().flatMap(Hexadecimal.value)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension StringProtocol where SubSequence == Substring {
    /// The text before an ASCII character, and that behind it; nil if the character is missing.
    fileprivate func divided(at character: Unicode.Scalar) -> (Substring, Substring?) {
        guard let place = self.utf8.firstIndex(of: UInt8(ascii: character)) else { return (self[...], nil) }
        return (self[..<place], self[self.utf8.index(after: place)...])
    }
}
