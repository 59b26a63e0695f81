internal import CRDTCore
internal import FileServing
internal import NIOHTTP1

/// Bodies of JSON.
///
/// A browser asks before it sends JSON to a server of another origin. It does not ask for the types that a form can
/// have, so a body of such a type is refused, whatever it holds.
extension Request {
    /// Reads the body as JSON.
    ///
    /// `valueDepth`: how deep the values of properties lie in it.
    ///
    /// - Throws: ``Problem`` if the body is of another type, too long, or no JSON.
    func json(valueDepth: Int = 0) async throws -> JSON {
        try self.requireJSON()
        return try Self.parsed(try await self.body.collect(upTo: APILimits.bodyByteCountMax), valueDepth: valueDepth)
    }

    /// The same; an empty object if there is no body.
    func jsonOrNothing() async throws -> JSON {
        try self.requireJSON()
        let bytes = try await self.body.collect(upTo: APILimits.bodyByteCountMax)
        return bytes.isEmpty ? .object([:]) : try Self.parsed(bytes)
    }

    private static func parsed(_ bytes: [UInt8], valueDepth: Int = 0) throws(Problem) -> JSON {
        switch JSON.parse(bytes, depthMax: JSON.depthMax + valueDepth, numbers: .unchanged) {
        case .success(let json): return json
        case .failure(let failure): throw Problem(failure, in: "The body", depthMax: JSON.depthMax)
        }
    }

    /// Refuses a body that says that it is something else; one that says nothing is taken for JSON.
    func requireJSON() throws(Problem) {
        for type in self.head.headers["Content-Type"] where !Self.isJSON(type) {
            throw Problem(
                .unsupportedMediaType,
                "unsupported-media-type",
                "The body has the type “\(type)”, and this takes JSON.",
                advice: "Send it with the field Content-Type: application/json."
            )
        }
    }

    /// Returns whether a media type is `application/json`, or one that ends in `+json`; parameters do not count.
    private static func isJSON(_ field: String) -> Bool {
        let words = field.prefix { $0 != ";" }.lowercased().split(whereSeparator: \.isWhitespace)
        guard words.count == 1 else { return false }
        return words[0] == "application/json" || words[0].contains("/") && words[0].hasSuffix("+json")
    }
}

extension Problem {
    /// The problem that text is not JSON that can be kept.
    init(_ failure: JSON.ParseFailure, in owner: String, depthMax: Int) {
        let (place, path) = (failure.offset, failure.path)
        let fault =
            switch failure.reason {
            case .notJSON: "is not JSON; it cannot be read behind byte \(place)."
            case .tooDeep: "has more than \(depthMax) levels of arrays and objects at byte \(place)."
            case .numberTooLarge: "has a number before byte \(place) that is beyond the range of a double."
            case .numberTooSmall: "has a number before byte \(place) that a double would make zero."
            case .integerTooLarge: "has an integer before byte \(place) that has more than 64 bits; write it as text."
            case .repeatedMember: "has two members \(Self.name(path.last)) in one object before byte \(place)."
            }
        self = .badRequest("\(owner) \(fault)")
    }

    private static func name(_ member: String?) -> String {
        JSON.string(String((member ?? "").prefix(40))).canonicalText
    }
}
