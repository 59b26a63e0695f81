enum FixtureSchema0001 {
    static let sql = ""
    static let export = ""
    static let head = ""
}
