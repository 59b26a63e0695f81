internal import CRDTCore
internal import PeerdKit

/// What a client wants of each object of a list.
enum ObjectFields: String {
    case all
    /// What `peerd ls` says.
    case summary

    init(_ parameters: QueryParameters) throws(Problem) {
        guard let text = try parameters.one("fields") else {
            self = .all
            return
        }
        guard let fields = ObjectFields(rawValue: text) else {
            throw .badRequest("The parameter fields is “summary” or “all”.")
        }
        self = fields
    }

    /// Reads an object of the store.
    func members(
        of index: ObjectIndex,
        in transaction: inout some StateReading
    ) throws(StoreError) -> [ExactText: JSON] {
        switch self {
        case .summary: return try ObjectSummary(of: index, in: &transaction).members
        case .all: return self.members(of: try Object(index, in: &transaction))
        }
    }

    /// The same of an object that was read before.
    func members(of object: Object) -> [ExactText: JSON] {
        switch self {
        case .summary: return ObjectSummary(object).members
        case .all:
            guard case .object(let members) = object.json else { return [:] }
            return members
        }
    }

    func append(_ object: Object, to bytes: inout [UInt8]) {
        switch self {
        case .summary: ObjectSummary(object).json.append(to: &bytes)
        case .all: object.append(to: &bytes)
        }
    }
}
