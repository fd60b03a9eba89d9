import java.sql.*;
import java.util.*;

/** A round trip by PostgreSQL's JDBC driver; prints what it got, a line each. */
public class RoundTrip {
    public static void main(String[] arguments) throws Exception {
        String url = arguments[0], stream = arguments[1], query = arguments[2];
        try (Connection connection = DriverManager.getConnection(url)) {
            DatabaseMetaData about = connection.getMetaData();
            try (ResultSet rows = about.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"})) {
                while (rows.next())
                    System.out.println("relation " + rows.getString("TABLE_NAME") + " "
                        + rows.getString("TABLE_TYPE") + " " + rows.getString("REMARKS"));
            }
            try (ResultSet rows = about.getColumns(null, "public", stream, "%")) {
                while (rows.next())
                    System.out.println("column " + rows.getString("COLUMN_NAME") + " "
                        + rows.getString("TYPE_NAME") + " " + rows.getInt("ORDINAL_POSITION"));
            }
            System.out.println("keys " + count(about.getPrimaryKeys(null, "public", stream))
                + " " + count(about.getImportedKeys(null, "public", stream))
                + " " + count(about.getIndexInfo(null, "public", stream, false, false)));
            System.out.println("keywords " + about.getSQLKeywords());
            System.out.println("schemas " + count(about.getSchemas()) + " types " + (count(about.getTypeInfo()) > 10));
            String select = "SELECT * FROM " + stream + " WHERE mph > ? AND car = ?";
            try (PreparedStatement asked = connection.prepareStatement(select)) {
                asked.setInt(1, 5);
                asked.setString(2, "a");
                for (int turn = 0; turn < 7; turn++) { // from the fifth on, prepared and in binary
                    try (ResultSet rows = asked.executeQuery()) {
                        while (rows.next())
                            System.out.println("row " + rows.getTimestamp("ts").toInstant() + " "
                                + rows.getString("car") + " " + rows.getInt("mph") + " "
                                + rows.getBigDecimal("d") + " "
                                + Arrays.toString((Object[]) rows.getArray("xs").getArray()));
                    }
                }
                System.out.println("columns " + asked.getMetaData().getColumnCount());
            }
            try (Statement wrong = connection.createStatement()) {
                wrong.executeQuery("SELECT * FROM missing");
            } catch (SQLException error) {
                System.out.println("error " + error.getSQLState());
            }
            connection.setAutoCommit(false);
            try (Statement follow = connection.createStatement()) {
                follow.setFetchSize(2);
                try (ResultSet rows = follow.executeQuery("SUBSCRIBE " + query)) {
                    for (int number = 0; number < 3 && rows.next(); number++)
                        System.out.println("followed " + rows.getString("car"));
                    follow.cancel();
                }
            } catch (SQLException error) {
                System.out.println("error " + error.getSQLState());
            }
            connection.rollback();
            System.out.println("valid " + connection.isValid(2));
        }
    }

    private static int count(ResultSet rows) throws SQLException {
        int found = 0;
        try (rows) {
            while (rows.next()) found++;
        }
        return found;
    }
}
